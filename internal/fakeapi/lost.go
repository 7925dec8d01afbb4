package fakeapi

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lost lists what an API server would not keep as it is sent: it decodes configuration into object, an empty one of its
// kind, and stores what comes of that. Whatever is lost, the operator would apply again and again.
func Lost(configuration runtime.ApplyConfiguration, object client.Object) ([]string, error) {
	sent, err := json.Marshal(configuration)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(sent, object); err != nil {
		return nil, err
	}
	kept, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var before, after any
	if err := json.Unmarshal(sent, &before); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(kept, &after); err != nil {
		return nil, err
	}
	return lost("", before, after), nil
}

func lost(path string, sent, kept any) []string {
	var all []string
	switch sent := sent.(type) {
	case map[string]any:
		fields, ok := kept.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, not %v", path, kept, sent)}
		}
		for key, value := range sent {
			all = append(all, lost(path+"."+key, value, fields[key])...)
		}
	case []any:
		items, ok := kept.([]any)
		if !ok || len(items) != len(sent) {
			return []string{fmt.Sprintf("%s is %v, not %v", path, kept, sent)}
		}
		for i, value := range sent {
			all = append(all, lost(fmt.Sprintf("%s[%d]", path, i), value, items[i])...)
		}
	default:
		if !reflect.DeepEqual(sent, kept) {
			all = append(all, fmt.Sprintf("%s is %v, not %v", path, kept, sent))
		}
	}
	return all
}
