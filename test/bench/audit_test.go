package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"
)

const auditHead = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata",`

// auditLines are as kube-apiserver writes them.
var auditLines = map[string]string{
	"create":   auditHead + `"stage":"ResponseComplete","verb":"create","user":{"username":"a"},"objectRef":{"resource":"deployments","namespace":"n","name":"x","apiGroup":"apps"},"responseStatus":{"code":201}}` + "\n",
	"status":   auditHead + `"stage":"ResponseComplete","verb":"patch","user":{"username":"a"},"objectRef":{"resource":"memcacheds","namespace":"n","name":"x","apiGroup":"cache.example.com","subresource":"status"},"responseStatus":{"code":200}}` + "\n",
	"refused":  auditHead + `"stage":"ResponseComplete","verb":"update","user":{"username":"a"},"objectRef":{"resource":"deployments","namespace":"n","name":"x","apiGroup":"apps"},"responseStatus":{"code":409}}` + "\n",
	"event":    auditHead + `"stage":"ResponseComplete","verb":"create","user":{"username":"a"},"objectRef":{"resource":"events","namespace":"n","apiGroup":"events.k8s.io"},"responseStatus":{"code":201}}` + "\n",
	"lease":    auditHead + `"stage":"ResponseComplete","verb":"update","user":{"username":"a"},"objectRef":{"resource":"leases","namespace":"n","name":"x","apiGroup":"coordination.k8s.io"},"responseStatus":{"code":200}}` + "\n",
	"review":   auditHead + `"stage":"ResponseComplete","verb":"create","user":{"username":"a"},"objectRef":{"resource":"subjectaccessreviews","apiGroup":"authorization.k8s.io"},"responseStatus":{"code":201}}` + "\n",
	"read":     auditHead + `"stage":"ResponseComplete","verb":"get","user":{"username":"a"},"objectRef":{"resource":"deployments","namespace":"n","name":"x","apiGroup":"apps"},"responseStatus":{"code":200}}` + "\n",
	"received": auditHead + `"stage":"RequestReceived","verb":"create","user":{"username":"a"},"objectRef":{"resource":"deployments","namespace":"n","apiGroup":"apps"}}` + "\n",
	"nothing":  auditHead + `"stage":"ResponseComplete","verb":"create","user":{"username":"a"},"responseStatus":{"code":404}}` + "\n",
	"somebody": auditHead + `"stage":"ResponseComplete","verb":"create","user":{"username":"b"},"objectRef":{"resource":"pods","namespace":"n"},"responseStatus":{"code":201}}` + "\n",
}

func TestWhatCountsAsAWrite(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		line   string
		want   writes
	}{
		"Create":       {"a child that is created", "create", writes{"create deployments": 1}},
		"Status":       {"a subresource is told apart from its resource", "status", writes{"patch memcacheds/status": 1}},
		"Refused":      {"a refused write costs as much as another", "refused", writes{"update deployments refused with 409": 1}},
		"Event":        {"events are stored and watched like everything else", "event", writes{"create events": 1}},
		"Lease":        {"a leader keeps itself elected whatever its resources do", "lease", nil},
		"Review":       {"a review is a question that is put as a create", "review", nil},
		"Read":         {"reads are no writes", "read", nil},
		"Received":     {"each request has several stages and counts once", "received", nil},
		"NoObject":     {"a request of no resource writes nothing", "nothing", nil},
		"SomebodyElse": {"others are not the subject", "somebody", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := auditLog{path: filepath.Join(t.TempDir(), "audit.log")}
			write(t, l.path, auditLines[tc.line])
			got, err := l.count("a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The log grows while it is read: nothing may be counted twice, and half a line not at all before its other half is there.
func TestAuditLogIsReadOn(t *testing.T) {
	t.Parallel()
	l := auditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	expect := func(when string, want int) {
		t.Helper()
		got, err := l.count("a")
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got.total() != want {
			t.Errorf("%s: count() = %v, want %d in all", when, got, want)
		}
	}
	expect("before there is a log", 0)
	write(t, l.path, auditLines["create"]+auditLines["create"][:90])
	expect("with a line and a half", 1)
	write(t, l.path, auditLines["create"][90:]+auditLines["status"])
	expect("with three lines", 3)
	expect("once more", 3)
}

func TestWritesSince(t *testing.T) {
	t.Parallel()
	before := writes{"create deployments": 3, "create services": 3}
	after := writes{"create deployments": 3, "create services": 5, "create events": 1}
	got := after.since(before)
	if diff := cmp.Diff(writes{"create services": 2, "create events": 1}, got); diff != "" {
		t.Errorf("since() (-want +got):\n%s", diff)
	}
	if got, want := got.String(), "2 create services, 1 create events"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got := (writes{}).String(); got != "none" {
		t.Errorf("String() of nothing = %q", got)
	}
}

func TestAuditPolicyLogsNothingButWritesOfTheUsers(t *testing.T) {
	t.Parallel()
	data, err := auditPolicy("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	var policy auditv1.Policy
	if err := yaml.UnmarshalStrict(data, &policy); err != nil {
		t.Fatal(err)
	}
	want := []auditv1.PolicyRule{
		{Level: auditv1.LevelMetadata, Users: []string{"a", "b"}, Verbs: writeVerbs},
		{Level: auditv1.LevelNone},
	}
	if diff := cmp.Diff(want, policy.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
