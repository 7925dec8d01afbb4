package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"
)

// writeVerbs are the verbs that ask for a change.
var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// auditPolicy has kube-apiserver log the finished writes of users and nothing else, which costs next to nothing.
func auditPolicy(users ...string) ([]byte, error) {
	return yaml.Marshal(auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted},
		Rules: []auditv1.PolicyRule{
			{Level: auditv1.LevelMetadata, Users: users, Verbs: writeVerbs},
			{Level: auditv1.LevelNone},
		},
	})
}

// writes counts the API writes of one user by what they were, refused ones included.
type writes map[string]int

func (w writes) total() (n int) {
	for _, count := range w {
		n += count
	}
	return n
}

// since is what w has more than before.
func (w writes) since(before writes) writes {
	more := writes{}
	for what, count := range w {
		if count > before[what] {
			more[what] = count - before[what]
		}
	}
	return more
}

// String lists the kinds of writes, most frequent first.
func (w writes) String() string {
	if len(w) == 0 {
		return "none"
	}
	var b bytes.Buffer
	byCount := func(a, b string) int {
		if w[a] != w[b] {
			return w[b] - w[a]
		}
		return bytes.Compare([]byte(a), []byte(b))
	}
	for i, what := range slices.SortedFunc(maps.Keys(w), byCount) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %s", w[what], what)
	}
	return b.String()
}

// auditLog reads on in the audit log of a running kube-apiserver.
type auditLog struct {
	path   string
	offset int64
	users  map[string]writes
}

// count returns all writes of user up to now.
func (l *auditLog) count(user string) (writes, error) {
	if err := l.readOn(); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return maps.Clone(l.users[user]), nil
}

func (l *auditLog) readOn() error {
	file, err := os.Open(l.path)
	if os.IsNotExist(err) {
		return nil // It begins with the first event.
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<62))
	if err != nil {
		return err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1] // The rest is still being written.
	for line := range bytes.Lines(data) {
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("decoding an event: %w", err)
		}
		l.add(&event)
	}
	l.offset += int64(len(data))
	return nil
}

func (l *auditLog) add(event *auditv1.Event) {
	if !isWrite(event) {
		return
	}
	if l.users == nil {
		l.users = map[string]writes{}
	}
	user := event.User.Username
	if l.users[user] == nil {
		l.users[user] = writes{}
	}
	what := event.Verb + " " + event.ObjectRef.Resource
	if event.ObjectRef.Subresource != "" {
		what += "/" + event.ObjectRef.Subresource
	}
	if status := event.ResponseStatus; status != nil && status.Code >= 300 {
		what += fmt.Sprintf(" refused with %d", status.Code)
	}
	l.users[user][what]++
}

// isWrite tells whether an event is a finished write. Events count like everything else. Leases do not, by
// which a leader keeps itself elected, nor do reviews, which are questions.
func isWrite(event *auditv1.Event) bool {
	if event.Stage != auditv1.StageResponseComplete && event.Stage != auditv1.StagePanic {
		return false
	}
	if event.ObjectRef == nil || !slices.Contains(writeVerbs, event.Verb) {
		return false
	}
	switch event.ObjectRef.APIGroup {
	case "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io":
		return false
	}
	return true
}
