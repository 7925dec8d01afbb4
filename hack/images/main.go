// Command images makes the images that the end-to-end tests run, as archives for docker load and kind: the operator's, that of
// a program for the tests in two variants, and memcached's where the official one cannot be pulled. It needs no engine and no
// registry, and prints one line for each image: a name, the reference, and the archive's path.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := workshop{answerLimit: answerLimit, say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "images: "+format+"\n", args...) }}
	flag.StringVar(&w.operatorRef, "operator", "", "reference of the operator's image (default memcached-operator with a tag that changes with the content)")
	flag.StringVar(&w.version, "version", "devel", "version of the operator")
	flag.StringVar(&w.out, "out", filepath.Join("out", "images"), "directory for the archives")
	flag.Parse()
	made, err := w.all(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to be stopped.
	}
	for _, p := range made {
		fmt.Println(p.name, p.ref, p.path)
	}
}

// product is an image that has been made.
type product struct{ name, ref, path string }

// workshop is where images are made.
type workshop struct {
	operatorRef, version, out string
	answerLimit               time.Duration
	say                       func(format string, args ...any)
}

// all makes all images, side by side: one is compiled while another is fetched.
func (w workshop) all(ctx context.Context) ([]product, error) {
	if err := os.MkdirAll(w.out, 0o755); err != nil {
		return nil, fmt.Errorf("making a directory for the archives: %w", err)
	}
	var made [3][]product
	group, ctx := errgroup.WithContext(ctx)
	for i, do := range []func(context.Context) ([]product, error){w.operator, w.memcached, w.probe} {
		group.Go(func() (err error) {
			made[i], err = do(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return append(append(made[0], made[1]...), made[2]...), nil
}
