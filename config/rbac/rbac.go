// Package rbac holds the manager's role as it is shipped, for tests and programs that run the manager with no more rights.
package rbac

import _ "embed"

// Role is the ClusterRole of the manager as controller-gen writes it, in YAML.
//
//go:embed role.yaml
var Role []byte
