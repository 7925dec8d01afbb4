package suite

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is one that an operator has sent to the API server.
type Request struct {
	// Verb is the HTTP method.
	Verb string
	// Resource, Name and Subresource are of the object, Name empty for a create and a list.
	Resource, Name, Subresource string
	// Query holds the field manager and the like.
	Query string
	// Code is the answer's, 0 where there was none.
	Code int
	// Refusal is the body of an answer that is an error.
	Refusal string
	// At is when it was sent.
	At time.Time
}

// Write tells whether the request may have changed something.
func (r Request) Write() bool { return r.Verb != http.MethodGet }

// String is the request for people.
func (r Request) String() string {
	target := path.Join(r.Resource, r.Name, r.Subresource)
	return fmt.Sprintf("%s %s?%s → %d %s", r.Verb, target, r.Query, r.Code, r.Refusal)
}

// Traffic is what one operator has asked of the API server: all but its watches.
type Traffic struct {
	mu       sync.Mutex
	requests []Request
}

// wrap records what goes through next.
func (t *Traffic) wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Has("watch") {
			return next.RoundTrip(request)
		}
		// Recorded before it has an effect: whoever sees the effect finds the request.
		place := t.begin(parse(request))
		response, err := next.RoundTrip(request)
		if err == nil {
			t.answer(place, response)
		}
		return response, err
	})
}

func (t *Traffic) begin(record Request) (place int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = append(t.requests, record)
	return len(t.requests) - 1
}

func (t *Traffic) answer(place int, response *http.Response) {
	refusal := ""
	if response.StatusCode >= http.StatusBadRequest {
		refusal = peek(response)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests[place].Code, t.requests[place].Refusal = response.StatusCode, refusal
}

// Requests are all so far.
func (t *Traffic) Requests() []Request { return t.since(0, func(Request) bool { return true }) }

// Writes are those that may have changed something.
func (t *Traffic) Writes() []Request { return t.since(0, Request.Write) }

// WritesTo are those to a resource, such as deployments or memcacheds/status.
func (t *Traffic) WritesTo(resource string) []Request { return WritesTo(resource, t.Writes()) }

// WritesTo are those of requests that may have changed something of a resource, such as deployments or memcacheds/status.
func WritesTo(resource string, requests []Request) []Request {
	resource, subresource, _ := strings.Cut(resource, "/")
	return Keep(requests, func(r Request) bool { return r.Write() && r.Resource == resource && r.Subresource == subresource })
}

// Mark is a point in the record, for Since.
func (t *Traffic) Mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.requests)
}

// WritesSince are the writes after a mark.
func (t *Traffic) WritesSince(mark int) []Request { return t.since(mark, Request.Write) }

// Forbidden are those that the rights of the operator did not allow. What admission forbids is not among them.
func (t *Traffic) Forbidden() []Request {
	return t.since(0, func(r Request) bool {
		return r.Code == http.StatusForbidden && lacksRight.MatchString(r.Refusal)
	})
}

func (t *Traffic) since(mark int, wanted func(Request) bool) []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Keep(t.requests[mark:], wanted)
}

// Keep are those of requests that are wanted.
func Keep(requests []Request, wanted func(Request) bool) []Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return !wanted(r) })
}

// peek reads an answer and puts it back.
func peek(response *http.Response) string {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// parse reads /api/v1/… and /apis/group/version/… paths.
func parse(request *http.Request) Request {
	record := Request{Verb: request.Method, Query: request.URL.RawQuery, At: time.Now()}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if skip := map[string]int{"api": 2, "apis": 3}[parts[0]]; len(parts) > skip {
		parts = parts[skip:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	for i, field := range []*string{&record.Resource, &record.Name, &record.Subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	return record
}

// lacksRight matches the answer of RBAC, in JSON and in protobuf.
var lacksRight = regexp.MustCompile(`User \\?"` + user + `\\?" cannot`)

// RoundTripper is a function as an http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
