// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// BenchmarkVersionsByToken asks for the versions of 1000 modules with 50 versions each over HTTPS, as a
// service account whose token and rights a real API reviews, and reports the slowest hundredth. Run it
// for longer than ten seconds, so that reviews are repeated.
func BenchmarkVersionsByToken(b *testing.B) {
	dir := b.TempDir()
	for m := range 1000 {
		module := filepath.Join(dir, "modules", "acme", fmt.Sprintf("m%d", m), "aws")
		if err := os.MkdirAll(module, 0o755); err != nil {
			b.Fatal(err)
		}
		for v := range 50 {
			if err := os.WriteFile(filepath.Join(module, fmt.Sprintf("acme-m%d-aws-1.%d.0.tar.gz", m, v)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	bucket, err := blob.OpenPlain(b.Context(), "file://"+dir)
	if err != nil {
		b.Fatal(err)
	}
	defer bucket.Close()
	modules, err := catalog.Open(b.Context(), bucket, catalog.Options{Spool: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	config := apitest.API(b).RESTConfig()
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	decides, err := access.NewAPI(api)
	if err != nil {
		b.Fatal(err)
	}
	account := newAccount(b, api, "bench", "get")
	token, err := api.CoreV1().ServiceAccounts(account.Namespace).CreateToken(b.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewTLSServer(registry.New(registry.Options{Modules: modules, Access: decides, Key: []byte("k")}).Handler())
	defer server.Close()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, fmt.Sprintf("%s/v1/modules/acme/m%d/aws/versions", server.URL, i%1000), nil)
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		began := time.Now()
		r, err := server.Client().Do(request)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
			b.Fatal(r.Status, err)
		}
		r.Body.Close()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
