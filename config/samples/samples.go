// Package samples holds the sample custom resources, for tests and programs that create them.
package samples

import "embed"

// Files are the samples; those under reference show every field.
//
//go:embed *_*.yaml reference/*.yaml
var Files embed.FS

const (
	// Memcached is the sample of a Memcached, and nothing else.
	Memcached = "cache_v1_memcached.yaml"
	// MyApp is the sample of a MyApp, and nothing else.
	MyApp = "app_v1alpha1_myapp.yaml"
)
