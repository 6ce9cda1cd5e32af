// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/listener"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// nestedKind is a kind in protobuf whose schema is negated so many times.
func nestedKind(levels int) []byte {
	// From the inside out, and backwards, so that each level only writes its own length.
	var backwards []byte
	number := func(n int) {
		var b []byte
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		b = append(b, byte(n))
		for i := range b {
			backwards = append(backwards, b[len(b)-1-i])
		}
	}
	wrap := func(field int) {
		number(len(backwards))
		number(field<<3 | 2)
	}
	const schemaNot, schema, versionSchema, versions, spec, raw = 28, 1, 4, 7, 2, 2
	for range levels {
		wrap(schemaNot)
	}
	for _, field := range []int{schema, versionSchema, versions, spec, raw} {
		wrap(field)
	}
	body := []byte("k8s\x00\x0a\x33\x0a\x17apiextensions.k8s.io/v1\x12\x18CustomResourceDefinition")
	for i := range backwards {
		body = append(body, backwards[len(backwards)-1-i])
	}
	return body
}

// Two megabytes of such a kind ended the process, with the stack of a goroutine.
func TestDeeplyNestedBodiesAreRefused(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", shared.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	const kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	deep := strings.Repeat(`{"not":`, 9000) + "{}" + strings.Repeat("}", 9000)
	kind := `{"metadata": {"name": "deeps.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "deeps", "kind": "Deep"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": %s}}]}}`
	for sentence, test := range map[string]struct {
		method, path, form string
		body               []byte
		want               int
	}{
		"a kind in protobuf":              {"POST", kinds, "application/vnd.kubernetes.protobuf", nestedKind(3), 415},
		"a deep kind in protobuf":         {"POST", kinds, "application/vnd.kubernetes.protobuf", nestedKind(400_000), 415},
		"a deep kind, spelled otherwise":  {"POST", "/apis/apiextensions.k8s.io//v1/customresourcedefinitions", "Application/VND.Kubernetes.Protobuf; x=y", nestedKind(400_000), 415},
		"a change of one":                 {"PUT", kinds + "/terraforms.infra.contrib.fluxcd.io", "application/vnd.kubernetes.protobuf", nestedKind(400_000), 415},
		"options of a deletion":           {"DELETE", kinds, "application/vnd.kubernetes.protobuf", nestedKind(400_000), 415},
		"a deep kind as another object":   {"POST", "/api/v1/namespaces/default/configmaps", "application/vnd.kubernetes.protobuf", nestedKind(400_000), 400},
		"a deep kind in JSON":             {"POST", kinds, "application/json", fmt.Appendf(nil, kind, deep), 422},
		"one that is too deep for JSON":   {"POST", kinds, "application/json", fmt.Appendf(nil, kind, strings.Repeat(`{"not":`, 300_000)), 400},
		"one that is too deep for YAML":   {"POST", kinds, "application/yaml", fmt.Appendf(nil, kind, strings.Repeat(`{"not":`, 300_000)), 400},
		"one that is too deep for CBOR":   {"POST", kinds, "application/cbor", []byte(strings.Repeat("\xa1cnot", 500_000)), 415},
		"an object that is too deep":      {"POST", "/api/v1/namespaces/default/configmaps", "application/json", []byte(strings.Repeat(`{"a":`, 500_000)), 400},
		"a patch that is too deep":        {"PATCH", "/api/v1/namespaces/default", "application/merge-patch+json", []byte(strings.Repeat(`{"a":`, 500_000)), 400},
		"an application that is too deep": {"PATCH", "/api/v1/namespaces/default?fieldManager=x", "application/apply-patch+yaml", []byte(strings.Repeat(`{"a":`, 500_000)), 400},
	} {
		t.Run(sentence, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, shared.URL()+test.path, bytes.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", test.form)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			answer, err := io.ReadAll(response.Body)
			if response.StatusCode != test.want || err != nil || bytes.Contains(answer, []byte("panic")) {
				t.Errorf("the answer is %d %.300s, %v, want %d", response.StatusCode, answer, err, test.want)
			}
		})
	}
}

// connect makes connections that are never used, and those that begin with something.
func connect(t *testing.T, address string, connections int, begin string) {
	t.Helper()
	for range connections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, begin); err != nil {
			return // there are enough
		}
	}
}

func TestStrangersDoNotKeepOthersOut(t *testing.T) {
	options := testOptions(t.TempDir())
	options.Connections = listener.Limits{Total: 20, PerAddress: 10}
	p := startIn(t, options)
	before := clientOf(t, p)
	watch, err := before.CoreV1().Secrets("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	etcd, err := url.Parse(p.etcd.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{p.Address(), etcd.Host} {
		connect(t, address, 300, "")
		connect(t, address, 100, "\x16\x03\x01")
	}
	after, err := kubernetes.NewForConfig(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	secretWith(t, after, "after", "it works")
	if got := contentOf(t, before, "after"); got != "it works" {
		t.Errorf("content %q", got)
	}
	select {
	case event := <-watch.ResultChan():
		if event.Type != "ADDED" {
			t.Errorf("the watch brings %q", event.Type)
		}
	case <-time.After(30 * time.Second):
		t.Error("the watch brings nothing any more")
	}
}

// A POST whose body does not come was kept for minutes.
func TestBodiesThatDoNotCome(t *testing.T) {
	options := testOptions(t.TempDir())
	options.bodyTime = 200 * time.Millisecond
	p := startIn(t, options)
	config, err := rest.TLSConfigFor(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct{ path, header string }{
		"to an unknown path":      {"/unknown", "Authorization: Bearer " + p.RESTConfig().BearerToken + "\r\n"},
		"of a stranger":           {"/api/v1/namespaces/default/configmaps", ""},
		"of somebody with rights": {"/api/v1/namespaces/default/configmaps", "Authorization: Bearer " + p.RESTConfig().BearerToken + "\r\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			conn, err := tls.Dial("tcp", p.Address(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", test.path, config.ServerName, test.header); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := conn.SetReadDeadline(began.Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if err != nil {
				t.Errorf("after %s the connection is still open, and says %.100q: %v", time.Since(began), answer, err)
			}
		})
	}
}
