package e2e_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// readerRole is the one that config/rbac has for whoever scrapes the metrics.
const readerRole = "memcached-operator-metrics-reader"

// rights are what the operator may do, and what may be done to it.
func rights() []story {
	return []story{
		refusedNothing("The operator has asked for nothing that its role does not give"),
		{
			name: "Metrics are for those who may read them",
			steps: func(s *stage, f *features.FeatureBuilder) {
				f.Assess("nobody gets 401", s.scraping("", http.StatusUnauthorized)).
					Assess("the wrong account gets 403", s.scraping("stranger", http.StatusForbidden)).
					Assess("the right account gets 200", s.scraping("reader", http.StatusOK))
			},
		},
		{
			name: "Nothing is warned of",
			steps: func(s *stage, f *features.FeatureBuilder) {
				f.Assess("by the API server", do(func(context.Context) error {
					for _, text := range s.warnings.all() {
						// Said where kubectl apply meets a CRD that somebody else has created.
						if !strings.Contains(text, "missing the kubectl.kubernetes.io/last-applied-configuration") {
							return fmt.Errorf("the API server warned: %s", text)
						}
					}
					return nil
				})).Assess("to the operator", s.logsNothing("KubeAPIWarningLogger"))
			},
		},
	}
}

// refusedNothing is that no request of the operator's has been refused for lack of a right.
func refusedNothing(name string) story {
	return story{name: name, steps: func(s *stage, f *features.FeatureBuilder) {
		f.Assess("by its metrics", do(func(ctx context.Context) error {
			token, err := s.account(ctx, "reader")
			if err != nil {
				return err
			}
			return s.operator.Metrics(ctx, func(address string) error { return noneForbidden(ctx, address, token) })
		})).Assess("by its log", s.logsNothing("is forbidden"))
		if s.can(nodeAccess) {
			f.Assess("by the API server's audit", do(s.auditForbidsNothing))
		}
	}}
}

func (s *stage) logsNothing(text string) features.Func {
	return do(func(ctx context.Context) error {
		logs, err := s.operator.Log(ctx)
		if err == nil && len(logs) == 0 {
			err = errors.New("there is no log")
		}
		for name, log := range logs {
			for line := range strings.Lines(log) {
				if strings.Contains(line, text) {
					return fmt.Errorf("%s has logged: %s", name, line)
				}
			}
		}
		return err
	})
}

// account makes a ServiceAccount and returns its token. The name reader gets the role of those who scrape.
func (s *stage) account(ctx context.Context, name string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}}
	if err := s.client.Create(ctx, account); err != nil {
		return "", err
	}
	if name == "reader" {
		namespace := &corev1.Namespace{}
		if err := s.client.Get(ctx, client.ObjectKey{Name: s.namespace}, namespace); err != nil {
			return "", err
		}
		if err := s.client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: s.namespace, OwnerReferences: []metav1.OwnerReference{
				// So that it goes with the namespace.
				*metav1.NewControllerRef(namespace, corev1.SchemeGroupVersion.WithKind("Namespace")),
			}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: readerRole},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: s.namespace}},
		}); err != nil {
			return "", err
		}
	}
	request := &authenticationv1.TokenRequest{}
	err := s.client.SubResource("token").Create(ctx, account, request)
	return request.Status.Token, err
}

// scraping waits until each replica answers the account, nobody where it has no name, with the code.
func (s *stage) scraping(account string, want int) features.Func {
	return do(func(ctx context.Context) error {
		token := ""
		if account != "" {
			var err error
			if token, err = s.account(ctx, account); err != nil {
				return err
			}
		}
		return s.operator.Metrics(ctx, func(address string) error {
			return await(ctx, fmt.Sprintf("the answer %d of %s to %q", want, address, account), func(ctx context.Context) (string, bool, error) {
				code, _, err := scrape(ctx, address, token)
				return fmt.Sprint("it was ", code), code == want, err
			})
		})
	})
}

// scrape asks for the metrics with a token, or without one where it is empty.
func scrape(ctx context.Context, address, token string) (code int, body []byte, _ error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // Its own certificate, on the loopback address.
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, errors.Join(err, response.Body.Close())
}

// noneForbidden reads the metrics of one replica and looks for answers 403. Those to PATCH are left to the log: what is applied
// in a namespace that ends is refused without any lack of a right.
func noneForbidden(ctx context.Context, address, token string) error {
	var metrics []byte
	if err := await(ctx, "the metrics of "+address, func(ctx context.Context) (string, bool, error) {
		code, body, err := scrape(ctx, address, token)
		metrics = body
		return fmt.Sprint("the answer was ", code), code == http.StatusOK, err
	}); err != nil {
		return err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(metrics)))
	if err != nil {
		return fmt.Errorf("reading the metrics of %s: %w", address, err)
	}
	requests := families["rest_client_requests_total"].GetMetric()
	if len(requests) == 0 {
		return fmt.Errorf("the metrics of %s count no requests", address)
	}
	for _, metric := range requests {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		if labels["code"] == "403" && labels["method"] != http.MethodPatch {
			return fmt.Errorf("%g requests of the operator were answered with 403: %v", metric.GetCounter().GetValue(), labels)
		}
	}
	return nil
}

// auditForbidsNothing goes through the API server's audit log, which the kubelet of the control plane's node serves.
func (s *stage) auditForbidsNothing(ctx context.Context) error {
	node, err := s.controlPlane(ctx)
	if err != nil {
		return err
	}
	stream, err := s.clients.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").
		Suffix("logs", "kubernetes", "audit.log").Stream(ctx)
	if err != nil {
		return fmt.Errorf("reading the audit log of %s: %w", node, err)
	}
	defer func() { _ = stream.Close() }()
	account := "system:serviceaccount:" + systemNamespace + ":" + managerName
	requests := 0
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			User        struct{ Username string }
			RequestURI  string
			Verb        string
			Annotations map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("reading the audit log of %s: %w", node, err)
		}
		if event.User.Username != account {
			continue
		}
		requests++
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
			return fmt.Errorf("the operator may not %s %s: %s", event.Verb, event.RequestURI, event.Annotations["authorization.k8s.io/reason"])
		}
	}
	if requests == 0 {
		return fmt.Errorf("the audit log of %s has no request of %s", node, account)
	}
	return lines.Err()
}
