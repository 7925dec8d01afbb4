package crd_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	cachev1 "github.com/example-inc/memcached-operator/api/cache/v1"
)

func memcached(spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "cache.example.com/v1",
		"kind":       "Memcached",
		"metadata":   map[string]any{"name": "a"},
		"spec":       spec,
	}
}

func limits(list map[string]any) map[string]any { return map[string]any{"limits": list} }

// One resource that Go cannot decode would keep the operator from seeing any: its list of all of them would fail.
func TestWhatIsAcceptedCanBeDecoded(t *testing.T) {
	t.Parallel()
	judge := judges(t)["Memcached"]
	quantity := `[+-]?([0-9]{1,20}(\.[0-9]{0,3})?|\.[0-9]{1,3})(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?([0-9]{1,20}(\.[0-9]{0,2})?|\.[0-9])))?`
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) any { return rapid.StringMatching(quantity).Draw(t, label) }
		whole := func(label string) any { return rapid.Int64().Draw(t, label) }
		anyOf := func(label string) any {
			return rapid.SampledFrom([]func(string) any{draw, draw, draw, whole}).Draw(t, label+" kind")(label)
		}
		name := rapid.SampledFrom([]string{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/a", "other"}).Draw(t, "name")
		object := memcached(rapid.SampledFrom([]map[string]any{
			{"resources": limits(map[string]any{name: anyOf("limit")})},
			{"resources": map[string]any{"requests": map[string]any{name: anyOf("request")}}},
			{"maxMemory": anyOf("maxMemory")},
			{"maxItemSize": anyOf("maxItemSize")},
		}).Draw(t, "spec"))
		if errs := judge.Create(t.Context(), object); len(errs) > 0 {
			return
		}
		accepted++
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var typed cachev1.Memcached
		if err := json.Unmarshal(data, &typed); err != nil {
			t.Errorf("%s is accepted, but: %v", data, err)
			return
		}
		for _, q := range quantities(&typed) {
			if q.Sign() < 0 {
				t.Errorf("%s is accepted, and negative", data)
			}
		}
	})
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
}

func quantities(mc *cachev1.Memcached) []resource.Quantity {
	var all []resource.Quantity
	if mc.Spec.Resources != nil {
		all = slices.Concat(slices.Collect(maps.Values(mc.Spec.Resources.Limits)), slices.Collect(maps.Values(mc.Spec.Resources.Requests)))
	}
	for _, q := range []*resource.Quantity{mc.Spec.MaxMemory, mc.Spec.MaxItemSize} {
		if q != nil {
			all = append(all, *q)
		}
	}
	return all
}

// memcached ends at once when an item may be larger than half of its memory, which it is given in whole MiB.
func TestItemsFitIntoMemoryAsMemcachedReckonsIt(t *testing.T) {
	t.Parallel()
	judge := judges(t)["Memcached"]
	const mebibyte = 1 << 20
	rapid.Check(t, func(t *rapid.T) {
		halves := rapid.Map(rapid.Int64Range(1, 2048), func(n int64) int64 { return n * mebibyte / 2 })
		item := rapid.OneOf(rapid.Int64Range(1<<10, 1<<30), halves, rapid.Map(halves, func(n int64) int64 { return n + 1 })).Draw(t, "item")
		item = min(item, 1<<30)
		near := rapid.Int64Range(-3, 3).Draw(t, "near") * rapid.SampledFrom([]int64{1, mebibyte}).Draw(t, "unit")
		spec := map[string]any{"maxItemSize": item}
		memory := int64(64 * mebibyte)
		switch rapid.SampledFrom([]string{"maxMemory", "limit", "neither"}).Draw(t, "given") {
		case "maxMemory":
			memory = max(mebibyte, 2*item+near)
			spec["maxMemory"] = memory
		case "limit":
			limit := max(32*mebibyte, rapid.SampledFrom([]int64{2*item + 16*mebibyte, 2 * item / 4 * 5}).Draw(t, "limit")+near)
			spec["resources"] = limits(map[string]any{"memory": limit})
			memory = limit - max(limit/5, 16*mebibyte)
		}
		want := 2*item <= memory/mebibyte*mebibyte
		errs := judge.Create(t.Context(), memcached(spec))
		if got := len(errs) == 0; got != want {
			t.Errorf("%v, with %d bytes for items, is accepted: %t, want %t: %v", spec, memory, got, want, errs.ToAggregate())
		}
	})
}
