package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// reviewer plays the API server: it knows one token of one user, who may read /metrics when allowed.
type reviewer struct {
	allowed, broken bool
	asked           []authorizationv1.SubjectAccessReviewSpec
}

func (r *reviewer) clients() *fake.Clientset {
	clients := fake.NewClientset()
	clients.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if r.broken {
			return true, nil, errors.New("the API server is away")
		}
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		if review.Spec.Token == "known" {
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{
				Username: "scraper", UID: "1", Groups: []string{"monitors"},
				Extra: map[string]authenticationv1.ExtraValue{"scope": {"all"}},
			}
		}
		return true, review, nil
	})
	clients.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		r.asked = append(r.asked, review.Spec)
		review.Status.Allowed = r.allowed
		return true, review, nil
	})
	return clients
}

// scrape asks for the metrics as often as there are headers and returns the last status.
func scrape(t *testing.T, s *scrapers, headers ...string) int {
	t.Helper()
	handler, err := s.filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	if err != nil {
		t.Fatal(err)
	}
	status := 0
	for _, header := range headers {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		request.Header.Set("Authorization", header)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		status = answer.Code
	}
	return status
}

func TestMetricsAreForTheAuthorized(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reviewer reviewer
		header   string
		want     int
	}{
		"Nobody":       {reviewer: reviewer{allowed: true}, want: http.StatusUnauthorized},
		"EmptyToken":   {reviewer: reviewer{allowed: true}, header: "Bearer ", want: http.StatusUnauthorized},
		"OtherScheme":  {reviewer: reviewer{allowed: true}, header: "Basic known", want: http.StatusUnauthorized},
		"UnknownToken": {reviewer: reviewer{allowed: true}, header: "Bearer made-up", want: http.StatusUnauthorized},
		"Stranger":     {header: "Bearer known", want: http.StatusForbidden},
		"Scraper":      {reviewer: reviewer{allowed: true}, header: "bearer known", want: http.StatusOK},
		"Undecided":    {reviewer: reviewer{allowed: true, broken: true}, header: "Bearer known", want: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := scrape(t, newScrapers(tc.reviewer.clients()), tc.header); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}

func TestAccessIsReviewedForTheUserAndThePath(t *testing.T) {
	t.Parallel()
	r := &reviewer{allowed: true}
	if got := scrape(t, newScrapers(r.clients()), "Bearer known", "Bearer known"); got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
	want := []authorizationv1.SubjectAccessReviewSpec{{
		User: "scraper", UID: "1", Groups: []string{"monitors"},
		Extra:                 map[string]authorizationv1.ExtraValue{"scope": {"all"}},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}}
	if diff := cmp.Diff(want, r.asked); diff != "" {
		t.Errorf("want one review, remembered for the second request (-want +got):\n%s", diff)
	}
}

// Neither a failure nor somebody else's verdict may stand for an answer.
func TestVerdictsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	r := &reviewer{allowed: true, broken: true}
	s := newScrapers(r.clients())
	if got := scrape(t, s, "Bearer known"); got != http.StatusInternalServerError {
		t.Errorf("status %d while the API server is away, want 500", got)
	}
	r.broken = false
	if got := scrape(t, s, "Bearer known"); got != http.StatusOK {
		t.Errorf("status %d once it is back, want 200", got)
	}
	if got := scrape(t, s, "Bearer known", "Bearer unknown"); got != http.StatusUnauthorized {
		t.Errorf("status %d for an unknown token after a known one, want 401", got)
	}
}
