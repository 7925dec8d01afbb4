package e2e_test

import (
	"context"
	"errors"
	"syscall"
)

// podsOperator is the operator in pods, deployed as its users deploy it.
type podsOperator struct{ *site }

func (p *podsOperator) Deploy(context.Context) error                              { return errors.New("later") }
func (p *podsOperator) Down(context.Context) error                                { return nil }
func (p *podsOperator) Up(context.Context) error                                  { return nil }
func (p *podsOperator) KillLeader(context.Context, syscall.Signal) error          { return nil }
func (p *podsOperator) Upgrade(context.Context) error                             { return nil }
func (p *podsOperator) Metrics(context.Context, func(address string) error) error { return nil }
func (p *podsOperator) Log(context.Context) (map[string]string, error)            { return nil, nil }
func (p *podsOperator) Undeploy(context.Context) error                            { return nil }
func (p *podsOperator) Remove(context.Context) error                              { return nil }
