package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	caCert = "ca.crt"
	caKey  = "ca.key"
	// certLifetime outlives any test run and little else.
	certLifetime = 7 * 24 * time.Hour
)

// authority signs the client certificates by which a local API server knows its users. It lies in the run directory, so
// that a process that joined the cluster can add users too.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the CA's key: %w", err)
	}
	crt, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "harness"}, key)
	if err != nil {
		return nil, fmt.Errorf("signing the CA's certificate: %w", err)
	}
	crtPEM, keyPEM, err := encodePair(crt, key)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, caCert), crtPEM, 0o600); err != nil {
		return nil, fmt.Errorf("writing the CA's certificate: %w", err)
	}
	if err := keyutil.WriteKey(filepath.Join(dir, caKey), keyPEM); err != nil {
		return nil, fmt.Errorf("writing the CA's key: %w", err)
	}
	return &authority{dir: dir, cert: crt, key: key}, nil
}

func loadAuthority(dir string) (*authority, error) {
	crts, err := cert.CertsFromFile(filepath.Join(dir, caCert))
	if err != nil {
		return nil, fmt.Errorf("reading the CA's certificate: %w", err)
	}
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(dir, caKey))
	if err != nil {
		return nil, fmt.Errorf("reading the CA's key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("reading the CA's key: a %T cannot sign", key)
	}
	return &authority{dir: dir, cert: crts[0], key: signer}, nil
}

// user returns base with the client certificate of a user.
func (a *authority) user(base *rest.Config, name string, groups ...string) (*rest.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key for user %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number for user %s: %w", name, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(certLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of user %s: %w", name, err)
	}
	crt, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing the certificate of user %s: %w", name, err)
	}
	cfg := rest.CopyConfig(base)
	cfg.CertData, cfg.KeyData, err = encodePair(crt, key)
	cfg.CertFile, cfg.KeyFile = "", ""
	return cfg, err
}

func encodePair(crt *x509.Certificate, key crypto.Signer) (crtPEM, keyPEM []byte, err error) {
	if crtPEM, err = cert.EncodeCertificates(crt); err != nil {
		return nil, nil, fmt.Errorf("encoding a certificate: %w", err)
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return crtPEM, keyPEM, nil
}

// The methods below let envtest use the authority instead of one that it keeps to itself.
var _ envtest.Authn = (*authority)(nil)

// Configure makes kube-apiserver trust the authority.
func (a *authority) Configure(_ string, args *envtest.Arguments) error {
	args.Set("client-ca-file", filepath.Join(a.dir, caCert))
	return nil
}

// Start has nothing to run.
func (a *authority) Start() error { return nil }

// AddUser returns base with the client certificate of u.
func (a *authority) AddUser(u envtest.User, base *rest.Config) (*rest.Config, error) {
	return a.user(base, u.Name, u.Groups...)
}

// Stop has nothing to end.
func (a *authority) Stop() error { return nil }
