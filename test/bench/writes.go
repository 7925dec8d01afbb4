package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// quiet is how long a subject must not have written to be called settled.
const quiet = 10 * time.Second

func estimateWrites(s sizes) time.Duration {
	create := time.Duration(s.writes) * 60 * time.Millisecond
	return 30*time.Second + time.Duration(len(subjects))*(create+quiet) + s.settle + s.restart
}

// measureWrites counts what each subject writes until all its resources are Available and it has settled, then for a while, and
// for a while after a restart. Each has its own namespace, so that both can be watched at once.
func (b *bench) measureWrites(ctx context.Context) error {
	return b.onSite(ctx, true, func(ctx context.Context, st *site) error {
		run := &writesRun{bench: b, site: st, managers: map[*subject]*manager{}}
		return errors.Join(run.measure(ctx), run.stop(ctx))
	})
}

type writesRun struct {
	*bench
	site     *site
	managers map[*subject]*manager
}

func (r *writesRun) stop(ctx context.Context) error {
	errs := make([]error, 0, len(r.managers))
	for _, m := range r.managers {
		errs = append(errs, m.stop(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

func (r *writesRun) measure(ctx context.Context) error {
	perResource := map[*subject]float64{}
	for _, s := range subjects {
		written, err := r.converge(ctx, s)
		if err != nil {
			return err
		}
		perResource[s] = float64(written.total()) / float64(r.writes)
		r.progress.say("%s wrote %s", s.name, written)
	}
	r.figures.add(figure{name: "writes_per_memcached", ours: perResource[ours], tutorial: new(perResource[tutorial]), bound: new(5.0), digits: 2})

	r.progress.say("watching both for %s", r.settle)
	settled, err := r.during(ctx, func() error { return pause(ctx, r.settle) })
	if err != nil {
		return err
	}
	r.addZero(fmt.Sprintf("settled_writes_%.0fs", r.settle.Seconds()), settled)

	r.progress.say("restarting both and watching them for %s", r.restart)
	restarted, err := r.during(ctx, func() error {
		for _, s := range subjects {
			if err := r.restartManager(ctx, s); err != nil {
				return err
			}
		}
		return pause(ctx, r.restart)
	})
	if err != nil {
		return err
	}
	r.addZero("restart_writes", restarted)
	return nil
}

// converge starts s, creates its resources, and returns what it has written when all are ready and it has settled.
func (r *writesRun) converge(ctx context.Context, s *subject) (writes, error) {
	r.progress.say("%d resources for %s", r.writes, s.name)
	if err := r.site.createNamespace(ctx, s.name); err != nil {
		return nil, err
	}
	m, err := r.site.startManager(ctx, s, s.name)
	if err != nil {
		return nil, err
	}
	r.managers[s] = m
	census, err := countMemcacheds(ctx, r.site, s.name, s.ready)
	if err != nil {
		return nil, err
	}
	defer census.end()
	if err := r.site.createMemcacheds(ctx, r.writes, s.name); err != nil {
		return nil, err
	}
	if err := census.await(ctx, r.writes); err != nil {
		return nil, err
	}
	return r.awaitQuiet(ctx, s)
}

func (r *writesRun) awaitQuiet(ctx context.Context, s *subject) (writes, error) {
	since := time.Now()
	for last := 0; ; {
		written, err := r.site.audit.count(s.user())
		if err != nil {
			return nil, err
		}
		if written.total() != last {
			last, since = written.total(), time.Now()
		}
		if time.Since(since) >= quiet {
			return written, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// restartManager replaces the manager of s and waits until the new one has looked at everything.
func (r *writesRun) restartManager(ctx context.Context, s *subject) error {
	if err := r.managers[s].stop(ctx); err != nil {
		return err
	}
	delete(r.managers, s)
	m, err := r.site.startManager(ctx, s, s.name)
	if err != nil {
		return err
	}
	r.managers[s] = m
	return m.awaitIdle(ctx, r.writes)
}

// during returns what each subject writes while do runs.
func (r *writesRun) during(ctx context.Context, do func() error) (map[*subject]writes, error) {
	before, err := r.count()
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	after, err := r.count()
	if err != nil {
		return nil, err
	}
	for s := range after {
		after[s] = after[s].since(before[s])
	}
	return after, ctx.Err()
}

func (r *writesRun) count() (map[*subject]writes, error) {
	all := map[*subject]writes{}
	for _, s := range subjects {
		written, err := r.site.audit.count(s.user())
		if err != nil {
			return nil, err
		}
		all[s] = written
	}
	return all, nil
}

// addZero adds a figure that has to be 0, and tells what it consists of where it is not.
func (r *writesRun) addZero(name string, written map[*subject]writes) {
	for _, s := range subjects {
		if len(written[s]) > 0 {
			r.progress.say("%s wrote %s", s.name, written[s])
		}
	}
	r.figures.add(figure{
		name: name, ours: float64(written[ours].total()),
		tutorial: new(float64(written[tutorial].total())), bound: new(0.0),
	})
}
