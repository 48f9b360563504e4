//go:build unix

package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// proxy is an engine at another address: what is sent there the real one gets.
type proxy struct {
	host    string       // as DOCKER_HOST takes it
	dialled atomic.Int64 // the connections so far
}

// dialEngine connects to the real engine.
func dialEngine(e testenv.Engine) (net.Conn, error) {
	network, address, _ := strings.Cut(e.Endpoint, "://")
	return net.Dial(network, address)
}

// listenTCP opens a port of this machine.
func listenTCP(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// listenUnix opens a socket by that name, in a directory that it makes.
func listenUnix(t *testing.T, name string) net.Listener {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// hostOf is the address of a listener as DOCKER_HOST takes it.
func hostOf(l net.Listener) string { return l.Addr().Network() + "://" + l.Addr().String() }

// relay connects whoever comes to l with the engine, once wait has passed. All of it ends with the test.
func relay(t *testing.T, e testenv.Engine, l net.Listener, wait time.Duration) *proxy {
	t.Helper()
	p := &proxy{host: hostOf(l)}
	serve(t, l, func(c net.Conn, over <-chan struct{}) {
		p.dialled.Add(1)
		select {
		case <-time.After(wait):
		case <-over:
			return
		}
		if engine, err := dialEngine(e); err == nil {
			join(c, engine, over)
		}
	})
	return p
}

// serve hands every connection to do, and ends with the test: over is closed then.
func serve(t *testing.T, l net.Listener, do func(c net.Conn, over <-chan struct{})) {
	t.Helper()
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer hangUp(c)
				do(c, over)
			})
		}
	})
	t.Cleanup(func() {
		close(over)
		_ = l.Close()
		work.Wait()
	})
}

// join copies both ways until both sides have ended, or the test has. Each end is passed on.
func join(a, b net.Conn, over <-chan struct{}) {
	defer hangUp(b)
	var work sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	work.Go(func() { pass(a, b) })
	work.Go(func() { pass(b, a) })
	done := make(chan struct{})
	go func() { defer close(done); work.Wait() }()
	select {
	case <-done:
	case <-over:
		hangUp(a)
		hangUp(b)
		<-done
	}
}

// hangUp closes a connection whose other side may have.
func hangUp(c net.Conn) { _ = c.Close() }

// claiming is an engine that says that it speaks another version of the API, and understands it.
func claiming(t *testing.T, e testenv.Engine, version string) *proxy {
	t.Helper()
	return answering(t, listenTCP(t), reverse(t, e, version))
}

// stuck is an engine that never answers a request with such a path.
func stuck(t *testing.T, e testenv.Engine, path *regexp.Regexp) *proxy {
	t.Helper()
	others := reverse(t, e, e.Docker(t, "version", "--format", "{{.Server.APIVersion}}"))
	return answering(t, listenTCP(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !path.MatchString(r.URL.Path) {
			others.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that the caller has gone
		<-r.Context().Done()
	}))
}

// rootless is an engine on a socket that says that it is a user's own.
func rootless(t *testing.T, e testenv.Engine, name string) *proxy {
	t.Helper()
	others := reverse(t, e, e.Docker(t, "version", "--format", "{{.Server.APIVersion}}"))
	return answering(t, listenUnix(t, name), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/info") {
			others.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		others.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), `"SecurityOptions":[`, `"SecurityOptions":["name=rootless",`, 1))
	}))
}

// reverse hands requests to the engine, and answers back that are of another version.
func reverse(t *testing.T, e testenv.Engine, version string) http.Handler {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dialEngine(e) }}
	spoken := e.Docker(t, "version", "--format", "{{.Server.APIVersion}}")
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine"
			if _, path, ok := strings.Cut(strings.TrimPrefix(r.In.URL.Path, "/v"), "/"); ok && strings.HasPrefix(r.In.URL.Path, "/v1.") {
				r.Out.URL.Path = "/v" + spoken + "/" + path
			}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Api-Version", version)
			return nil
		},
	}
}

// answering is an engine at l that answers as h does. Its requests end with the test, those that became
// streams too.
func answering(t *testing.T, l net.Listener, h http.Handler) *proxy {
	t.Helper()
	p := &proxy{host: hostOf(l)}
	life, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	s := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work.Add(1)
		defer work.Done()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		p.dialled.Add(1)
		h.ServeHTTP(w, r.WithContext(ctx))
	})}
	work.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		end()
		work.Wait()
	})
	return p
}

// refusing is an engine that answers everything so.
func refusing(t *testing.T, status int, message string) *proxy {
	t.Helper()
	return answering(t, listenTCP(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"`+message+`"}`)
	}))
}

// authority is one who certifies engines and their clients.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
	next int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{next: 1}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key := a.sign(t, template)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, key
	return a
}

// sign makes a certificate of the template: the authority's own as long as it has none.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (der []byte, key ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(a.next)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	a.next++
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by); err != nil {
		t.Fatal(err)
	}
	return der, key
}

// files writes a client's ca.pem, cert.pem and key.pem to dir, as DOCKER_CERT_PATH wants them.
func (a *authority) files(t *testing.T, dir string) {
	t.Helper()
	der, key := a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: a.cert.Raw}, "cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// over is l with TLS, for clients that the authority has certified if mutual.
func (a *authority) over(t *testing.T, l net.Listener, mutual bool) net.Listener {
	t.Helper()
	der, key := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "engine"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	cfg := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	if mutual {
		cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		cfg.ClientCAs.AddCert(a.cert)
	}
	return tls.NewListener(l, cfg)
}
