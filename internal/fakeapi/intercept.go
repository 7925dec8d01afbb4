package fakeapi

import (
	"context"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// interceptors log each request that the operator makes of its own accord. Create and update are left to the tests, which
// play the other controllers with them.
func (s *Server) interceptors(scheme *runtime.Scheme) interceptor.Funcs {
	kind := func(object runtime.Object) string {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(gvk.Kind, "List")
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := s.log(Request{Verb: "get", Kind: kind(object), Name: key.Name}); err != nil {
				return err
			}
			if err := c.Get(ctx, key, object, options...); err != nil {
				return err
			}
			return disclaimStatus(object)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := s.log(Request{Verb: "list", Kind: kind(list)}); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			r := Request{Verb: "delete", Kind: kind(object), Name: object.GetName()}
			r.Delete.ApplyOptions(options)
			if err := s.log(r); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			body, err := patch.Data(object)
			if err != nil {
				return err
			}
			if err := s.log(Request{Verb: "patch", Kind: kind(object), Name: object.GetName(), Body: string(body)}); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		Apply:            s.apply,
		SubResourceApply: s.applyStatus,
	}
}

func (s *Server) apply(ctx context.Context, c client.WithWatch, configuration runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	chosen := client.ApplyOptions{}
	chosen.ApplyOptions(options)
	r, err := ofConfiguration("apply", configuration, chosen.Force)
	if err != nil {
		return err
	}
	if err := s.log(r); err != nil {
		return err
	}
	return c.Apply(ctx, configuration, options...)
}

func (s *Server) applyStatus(ctx context.Context, c client.Client, subresource string, configuration runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	chosen := client.SubResourceApplyOptions{}
	chosen.ApplyOpts(options)
	r, err := ofConfiguration("apply "+subresource, configuration, chosen.Force)
	if err != nil {
		return err
	}
	if err := s.log(r); err != nil {
		return err
	}
	return c.SubResource(subresource).Apply(ctx, configuration, options...)
}

// disclaimStatus drops the claim to the status that the fake client notes for an apply of the main resource, which an API
// server does not.
func disclaimStatus(object client.Object) error {
	entries := object.GetManagedFields()
	for i := range entries {
		if entries[i].FieldsV1 == nil {
			continue
		}
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(entries[i].FieldsV1.GetRawBytes(), &fields); err != nil {
			return err
		}
		delete(fields, "f:status")
		raw, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		entries[i].FieldsV1 = metav1.NewFieldsV1(string(raw))
	}
	object.SetManagedFields(entries)
	return nil
}
