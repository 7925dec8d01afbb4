// Package hack tests the scripts beside it, and that the documentation tells the truth.
package hack
