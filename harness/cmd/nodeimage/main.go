// Command nodeimage makes sure that the Docker engine has an image for the nodes of a kind cluster, and prints its name.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/example-inc/memcached-operator/harness/nodeimage"
)

func main() {
	var opts nodeimage.Options
	flag.BoolVar(&opts.Build, "build", false, "do not look for the published image")
	flag.Parse()
	ref, err := nodeimage.Ensure(context.Background(), opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodeimage:", err)
		os.Exit(1)
	}
	fmt.Println(ref)
}
