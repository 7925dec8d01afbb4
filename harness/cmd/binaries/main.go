// Command binaries makes sure that the programs of a test control plane are there and prints where.
//
//	binaries [tool...]
//
// It prints one line "name path" for each tool, or for all when none is named.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

func main() {
	tools := binaries.All()
	if len(os.Args) > 1 {
		tools = tools[:0]
		for _, name := range os.Args[1:] {
			tools = append(tools, binaries.Tool(name))
		}
	}
	paths, err := binaries.Ensure(context.Background(), binaries.Options{}, tools...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "binaries:", err)
		os.Exit(1)
	}
	for _, tool := range tools {
		fmt.Println(tool, paths[tool])
	}
}
