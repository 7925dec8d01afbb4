package suite

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/onsi/ginkgo/v2"
)

// Log is what one operator has logged. A spec that fails prints it.
type Log struct {
	mu     sync.Mutex
	errors []string
}

// Errors are the lines of level error.
func (l *Log) Errors() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.errors...)
}

func (l *Log) logger() logr.Logger {
	return funcr.New(func(name, line string) {
		_, _ = fmt.Fprintln(ginkgo.GinkgoWriter, name, line)
		if strings.HasPrefix(line, `"level"=`) {
			return // Errors have none.
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errors = append(l.errors, name+" "+line)
	}, funcr.Options{})
}
