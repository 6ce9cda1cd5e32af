// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestPayloads(t *testing.T) {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "team",
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
		Spec: infrav1.TerraformSpec{ApprovePlan: "auto", Path: "./live"}, Status: infrav1.TerraformStatus{LastAppliedRevision: "main@sha1:1"}}
	const plan = `{"format_version":"1.2","dummy":"plan"}`
	for kind, want := range map[string]struct{ APIVersion, Kind, Name, Path, Status string }{
		"":            {"infra.contrib.fluxcd.io/v1alpha2", "Terraform", "helloworld", "./live", `{"tfplan":` + plan + `}`},
		"SpecAndPlan": {"infra.contrib.fluxcd.io/v1alpha2", "Terraform", "helloworld", "./live", `{"tfplan":` + plan + `}`},
		"SpecOnly":    {"infra.contrib.fluxcd.io/v1alpha2", "Terraform", "helloworld", "./live", ""},
	} {
		payload, err := Payload(kind, obj, json.RawMessage(plan))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			APIVersion, Kind string
			Metadata         struct {
				Name          string
				ManagedFields any
			}
			Spec   struct{ Path, ApprovePlan string }
			Status json.RawMessage
		}
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Fatal(err)
		}
		is := struct{ APIVersion, Kind, Name, Path, Status string }{got.APIVersion, got.Kind, got.Metadata.Name, got.Spec.Path, string(got.Status)}
		if diff := cmp.Diff(want, is); diff != "" || got.Metadata.ManagedFields != nil || got.Spec.ApprovePlan != "auto" {
			t.Errorf("%q (-want +got):\n%s\n%s", kind, diff, payload)
		}
		if NeedsPlan(kind) != (want.Status != "") {
			t.Errorf("%q needs the plan: %v", kind, NeedsPlan(kind))
		}
	}
	if payload, err := Payload("PlanOnly", obj, json.RawMessage(plan)); err != nil || string(payload) != plan {
		t.Errorf("%s, %v", payload, err)
	}
	if _, err := Payload("Nothing", obj, nil); err == nil || err.Error() != "unknown payload type: Nothing" {
		t.Errorf("%v", err)
	}
	if obj.ManagedFields == nil || obj.Status.LastAppliedRevision == "" {
		t.Error("the object was changed")
	}
}

func hook(url string) infrav1.Webhook {
	return infrav1.Webhook{URL: url, TestExpression: "${{ .passed }}", ErrorMessageTemplate: "Violation: ${{ (index .violations 0).message }}"}
}

func TestWhatRepliesMean(t *testing.T) {
	for sentence, test := range map[string]struct {
		status  int
		reply   string
		hook    infrav1.Webhook
		refused string
		problem string
	}{
		"it passes":             {reply: `{"passed": true}`},
		"it passes with yes":    {reply: `{"passed": " yes\n"}`},
		"it is refused":         {reply: `{"passed": false, "violations": [{"message": "too many nodes"}]}`, refused: "Violation: too many nodes"},
		"it is refused with no": {reply: `{"passed": "no", "violations": [{"message": "x"}]}`, refused: "Violation: x"},
		"it is refused without a message": {reply: `{"passed": false}`, hook: infrav1.Webhook{TestExpression: "${{ .passed }}"},
			refused: "webhook URL refused the plan"},
		"it is refused, and the message cannot be told": {reply: `{"passed": false}`,
			refused: "webhook URL refused the plan, and its message cannot be composed: spec.webhooks[2].errorMessageTemplate: "},
		"the reply is neither yes nor no":   {reply: `{"passed": "maybe"}`, problem: `webhook test expression "${{ .passed }}" returned unexpected result: maybe`},
		"the reply lacks what is asked for": {reply: `{}`, problem: "evaluate the reply of webhook URL: spec.webhooks[2].testExpression: .passed has no value"},
		"the expression is no template":     {reply: `{}`, hook: infrav1.Webhook{TestExpression: "${{ if }}"}, problem: "evaluate the reply of webhook URL: spec.webhooks[2].testExpression: "},
		"the reply is no object":            {reply: `[]`, problem: "read the reply of webhook URL: it is not a JSON object"},
		"the reply is nothing":              {reply: `null`, problem: "read the reply of webhook URL: it is not a JSON object"},
		"the reply is too long":             {reply: `{"passed": true, "x": "` + strings.Repeat("x", maxReply) + `"}`, problem: "read the reply of webhook URL: it has more than 1048576 bytes"},
		"another status":                    {status: http.StatusForbidden, reply: `{"passed": true}`, problem: "webhook URL returned 403: 403 Forbidden"},
		"created is not ok":                 {status: http.StatusCreated, reply: `{"passed": true}`, problem: "webhook URL returned 201: 201 Created"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, _ = io.ReadAll(r.Body)
				if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s of %s", r.Method, r.Header.Get("Content-Type"))
				}
				if test.status != 0 {
					w.WriteHeader(test.status)
				}
				io.WriteString(w, test.reply)
			}))
			defer server.Close()
			h := test.hook
			if h.TestExpression == "" {
				h = hook("")
			}
			h.URL = server.URL
			err := (&Client{}).Ask(t.Context(), 2, h, []byte(`{"the":"payload"}`))
			if string(got) != `{"the":"payload"}` {
				t.Errorf("it got %s", got)
			}
			var refused *RefusedError
			text := ""
			if err != nil {
				text = strings.ReplaceAll(err.Error(), server.URL, "URL")
			}
			if want := test.refused + test.problem; !strings.HasPrefix(text, want) || (want == "") != (text == "") || errors.As(err, &refused) != (test.refused != "") {
				t.Errorf("%T %q, want %q", err, text, want)
			}
		})
	}
}

func TestAServiceThatCannotAnswerIsAskedAgain(t *testing.T) {
	for sentence, test := range map[string]struct {
		failures int32
		status   int
		asked    int32
		problem  string
	}{
		"once":                          {1, http.StatusServiceUnavailable, 2, ""},
		"for a while":                   {2, http.StatusTooManyRequests, 3, ""},
		"for ever":                      {9, http.StatusBadGateway, 3, "returned 502: 502 Bad Gateway"},
		"a redirection is not followed": {9, http.StatusFound, 1, "returned 302: 302 Found"},
		"it says that it will not":      {9, http.StatusNotFound, 1, "returned 404: 404 Not Found"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) <= test.failures {
					w.Header().Set("Location", "/passed")
					w.WriteHeader(test.status)
					return
				}
				io.WriteString(w, `{"passed": true}`)
			}))
			defer server.Close()
			err := (&Client{Pause: time.Millisecond}).Ask(t.Context(), 0, hook(server.URL), nil)
			if (err == nil) != (test.problem == "") || err != nil && !strings.HasSuffix(err.Error(), test.problem) || asked.Load() != test.asked {
				t.Errorf("called %d times: %v", asked.Load(), err)
			}
		})
	}
}

func TestErrorsHoldNoSecretOfTheURL(t *testing.T) {
	for _, url := range []string{"http://me:hunter2@127.0.0.1:1/x?token=hunter2", "http://me:hunter2@169.254.169.254/?token=hunter2", "ftp://me:hunter2@a/", "http://%zz/hunter2"} {
		err := (&Client{Pause: time.Millisecond, Timeout: 5 * time.Second}).Ask(t.Context(), 0, hook(url), nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// selfSigned writes a certificate and its key.
func selfSigned(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "yuba"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCertificatesOfAHost(t *testing.T) {
	certs := t.TempDir()
	clients := x509.NewCertPool()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"passed": true}`) }))
	server.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}
	server.StartTLS()
	defer server.Close()
	c := &Client{Certs: certs, Pause: time.Millisecond}
	ask := func() error { return c.Ask(t.Context(), 0, hook(server.URL), nil) }
	if err := ask(); err == nil || !strings.Contains(err.Error(), "an untrusted authority") {
		t.Errorf("an unknown authority: %v", err)
	}
	dir := filepath.Join(certs, "127.0.0.1")
	write(t, filepath.Join(dir, "ca.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err := ask(); err != nil {
		t.Errorf("without a client certificate: %v", err)
	}
	server.TLS.ClientAuth = tls.RequireAndVerifyClientCert
	if err := ask(); err == nil {
		t.Error("the service wants a client certificate and got none")
	}
	clients.AddCert(selfSigned(t, dir))
	if err := ask(); err != nil {
		t.Errorf("with a client certificate: %v", err)
	}
	write(t, filepath.Join(dir, "tls.key"), []byte("broken"))
	if err := ask(); err == nil || !strings.Contains(err.Error(), "read the client certificate for 127.0.0.1") {
		t.Errorf("a broken key: %v", err)
	}
	write(t, filepath.Join(dir, "ca.crt"), []byte("broken"))
	if err := ask(); err == nil || !strings.Contains(err.Error(), "read the authority of 127.0.0.1") {
		t.Errorf("a broken authority: %v", err)
	}
	for _, host := range []string{"..", ".", "../127.0.0.1"} {
		if roots, certificate, err := c.certificates(host); roots != nil || certificate != nil || err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}
