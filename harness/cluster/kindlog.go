package cluster

import (
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/kind/pkg/log"
)

// kindLog passes on what kind begins to do; what goes wrong is in the error that it returns.
type kindLog struct{ progress *progress }

var _ log.Logger = kindLog{}

func (l kindLog) Warn(string)                      {}
func (l kindLog) Warnf(string, ...any)             {}
func (l kindLog) Error(string)                     {}
func (l kindLog) Errorf(string, ...any)            {}
func (l kindLog) V(level log.Level) log.InfoLogger { return kindInfo{kindLog: l, on: level == 0} }

type kindInfo struct {
	kindLog

	on bool
}

func (i kindInfo) Enabled() bool                 { return i.on }
func (i kindInfo) Infof(format string, a ...any) { i.Info(fmt.Sprintf(format, a...)) }

// Info picks the lines " • Starting control-plane 🕹️  ..." out of what kind would show on a terminal.
func (i kindInfo) Info(message string) {
	step, isStep := strings.CutPrefix(message, " • ")
	if !i.on || !isStep {
		return
	}
	plain := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return -1
		}
		return r
	}, strings.TrimSuffix(strings.TrimSpace(step), "..."))
	i.progress.say(strings.Join(strings.Fields(plain), " "))
}
