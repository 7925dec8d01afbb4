package main

import (
	"context"
	"fmt"
	"time"
)

func estimateConverge(s sizes) time.Duration {
	trial := 2*time.Second + time.Duration(s.converge)*50*time.Millisecond
	return 20*time.Second + time.Duration(4*s.rounds)*trial
}

// measureConverge compares the time from the creation of the first resource until all are ready with the time in which a bare
// client creates the resources and the same children and sees the same pods ready. Both create as much at once, both learn by a watch that all is
// done, each begins in an empty namespace of a cluster that has come to rest. The two take turns, so that both have the same share of a busy
// machine's moods.
func (b *bench) measureConverge(ctx context.Context) error {
	return b.onSite(ctx, false, func(ctx context.Context, st *site) error {
		seconds := map[*subject][]float64{}
		bare := map[*subject][]float64{}
		patterns, err := b.learnAll(ctx, st)
		if err != nil {
			return err
		}
		for round := range b.rounds {
			for _, s := range subjects {
				if s == tutorial && round > 0 {
					continue // Nothing is judged by it: once is enough.
				}
				mine, theirs, err := b.pair(ctx, st, s, patterns[s], round%2 == 1)
				if err != nil {
					return err
				}
				seconds[s], bare[s] = append(seconds[s], mine), append(bare[s], theirs)
				b.progress.say("round %d of %d: %s %.1f s, a bare client %.1f s", round+1, b.rounds, s.name, mine, theirs)
			}
		}
		b.figures.add(figure{
			name: "converge_ratio", ours: medianRatio(seconds[ours], bare[ours]),
			tutorial: new(medianRatio(seconds[tutorial], bare[tutorial])), bound: new(1.25), digits: 2,
		})
		b.figures.add(figure{
			name: fmt.Sprintf("converge_%d_seconds", b.converge), ours: median(seconds[ours]),
			tutorial: new(median(seconds[tutorial])), digits: 1,
		})
		return nil
	})
}

// learnAll has each subject show what it makes of a resource, which warms the cluster up besides.
func (b *bench) learnAll(ctx context.Context, st *site) (map[*subject]pattern, error) {
	patterns := map[*subject]pattern{}
	for _, s := range subjects {
		b.progress.say("learning what %s makes of a resource", s.name)
		if err := st.createNamespace(ctx, s.name); err != nil {
			return nil, err
		}
		err := st.with(ctx, s, func(*manager) error {
			var err error
			if patterns[s], err = st.learn(ctx, s, s.name); err != nil {
				return err
			}
			return st.clear(ctx, s.name)
		}, s.name)
		if err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// pair times s and a bare client, one after the other.
func (b *bench) pair(ctx context.Context, st *site, s *subject, p pattern, bareFirst bool) (mine, theirs float64, err error) {
	trials := []func() error{
		func() (err error) { mine, err = b.timeSubject(ctx, st, s); return err },
		func() (err error) { theirs, err = b.timeBare(ctx, st, s, p); return err },
	}
	if bareFirst {
		trials[0], trials[1] = trials[1], trials[0]
	}
	for _, trial := range trials {
		if err := trial(); err != nil {
			return 0, 0, err
		}
	}
	return mine, theirs, nil
}

func (b *bench) timeSubject(ctx context.Context, st *site, s *subject) (seconds float64, err error) {
	err = st.with(ctx, s, func(m *manager) error {
		if _, err := st.learn(ctx, s, s.name); err != nil { // The manager has synced and worked once.
			return err
		}
		if err := st.clear(ctx, s.name); err != nil {
			return err
		}
		census, err := countMemcacheds(ctx, st, s.name, s.ready)
		if err != nil {
			return err
		}
		defer census.end()
		seconds, err = b.time(ctx, st, m, census, func() error { return st.createMemcacheds(ctx, b.converge, s.name) })
		if err != nil {
			return err
		}
		return st.clear(ctx, s.name)
	}, s.name)
	return seconds, err
}

func (b *bench) timeBare(ctx context.Context, st *site, s *subject, p pattern) (float64, error) {
	census, err := countPods(ctx, st, s.name)
	if err != nil {
		return 0, err
	}
	defer census.end()
	seconds, err := b.time(ctx, st, nil, census, func() error { return st.createChildren(ctx, p, s.name, b.converge) })
	if err != nil {
		return 0, err
	}
	return seconds, st.clear(ctx, s.name, s.children...)
}

// time measures create and the wait until census has found everything, and tells what CPU time that took; m is nil for a bare client.
func (b *bench) time(ctx context.Context, st *site, m *manager, census *census, create func() error) (float64, error) {
	if err := st.rest(ctx); err != nil {
		return 0, err
	}
	before, err := st.cpuWith(m)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := create(); err != nil {
		return 0, err
	}
	if err := census.await(ctx, b.converge); err != nil {
		return 0, err
	}
	seconds := time.Since(begin).Seconds()
	after, err := st.cpuWith(m)
	if err != nil {
		return 0, err
	}
	b.progress.say("%.1f s, %s", seconds, after.since(before))
	return seconds, nil
}
