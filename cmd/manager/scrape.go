package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	reviewTimeout  = 10 * time.Second
	reviewsKept    = 1024
	allowedFor     = time.Minute
	refusedFor     = 10 * time.Second
	maxTokenLength = 16 << 10
)

// scrapers lets those read the metrics whom the API server authenticates by their token and authorizes for the path. It does what
// controller-runtime's filter does; that one brings half of k8s.io/apiserver into the process, a quarter of its memory.
type scrapers struct {
	clients  kubernetes.Interface
	verdicts *cache.LRUExpireCache // HTTP status by verdictKey.
}

// verdictKey keeps tokens themselves out of memory.
type verdictKey struct {
	token      [sha256.Size]byte
	verb, path string
}

func authorizeScrapers(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	clients, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making a client for reviews: %w", err)
	}
	return newScrapers(clients).filter, nil
}

func newScrapers(clients kubernetes.Interface) *scrapers {
	return &scrapers{clients: clients, verdicts: cache.NewLRUExpireCache(reviewsKept)}
}

func (s *scrapers) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := s.judge(r)
		if err != nil {
			log.Error(err, "cannot tell whether metrics may be read")
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// judge returns the status to answer with. What could not be found out is not remembered.
func (s *scrapers) judge(r *http.Request) (int, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxTokenLength {
		return http.StatusUnauthorized, nil
	}
	key := verdictKey{token: sha256.Sum256([]byte(token)), verb: strings.ToLower(r.Method), path: r.URL.Path}
	if known, ok := s.verdicts.Get(key); ok {
		return known.(int), nil //nolint:forcetypeassert // Nothing else is ever added.
	}

	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	status, err := s.review(ctx, token, key.verb, key.path)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	keep := refusedFor
	if status == http.StatusOK {
		keep = allowedFor
	}
	s.verdicts.Add(key, status, keep)
	return status, nil
}

// review asks the API server who has the token, then whether they may.
func (s *scrapers) review(ctx context.Context, token, verb, path string) (int, error) {
	who, err := s.clients.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("reviewing a token: %w", err)
	}
	if !who.Status.Authenticated || who.Status.Error != "" {
		return http.StatusUnauthorized, nil
	}

	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may, err := s.clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("reviewing the access of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
