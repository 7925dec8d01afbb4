package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the bare client creates is what the subject created, but for the owner: nothing that the server adds, everything else.
func TestAChildIsRepeatedForAnotherOwner(t *testing.T) {
	t.Parallel()
	deployment := func(name string) *appsv1.Deployment {
		labels := map[string]string{"app": "memcached", "memcached_cr": name}
		return &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(1)),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			},
		}
	}
	live := deployment(sample)
	live.UID, live.ResourceVersion, live.Generation = "uid", "7", 3
	live.CreationTimestamp = metav1.Unix(1, 0)
	live.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	live.OwnerReferences = []metav1.OwnerReference{{Name: sample, UID: "owner of the sample"}}
	live.Status.ReadyReplicas = 1
	encoded, err := encode(live)
	if err != nil {
		t.Fatal(err)
	}

	owner := memcached("n", "cache-0001")
	owner.UID = "owner"
	got, err := child{&appsv1.Deployment{}, encoded}.of(owner)
	if err != nil {
		t.Fatal(err)
	}
	want := deployment("cache-0001")
	want.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "cache.example.com/v1", Kind: "Memcached", Name: "cache-0001", UID: "owner",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of() (-want +got):\n%s", diff)
	}
}
