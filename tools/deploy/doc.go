// Package deploy tests what config/default renders to. It is a module of its own, so that kustomize and the Pod Security
// Standards do not become dependencies of whoever imports the operator's API or its harness.
package deploy
