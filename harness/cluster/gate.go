package cluster

import (
	"errors"
	"fmt"
	"os"
)

// gate is the named pipe that a component's launcher opens before it starts the component: it blocks until openGates.
func (r *runDir) gate(component string) string { return r.join("bin", component+".gate") }

// openGates lets components start that wait at their gates.
func (s *site) openGates(components ...string) error {
	var errs []error
	for _, component := range components {
		// For reading as well, so that the call does not block when the launcher is not there yet.
		gate, err := os.OpenFile(s.run.gate(component), os.O_RDWR, 0)
		if err != nil {
			errs = append(errs, fmt.Errorf("opening the gate for %s: %w", component, err))
			continue
		}
		s.gates = append(s.gates, gate)
	}
	return errors.Join(errs...)
}
