// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// helmPrograms builds yuba-helm and yuba-sandbox.
var helmPrograms = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "yuba-programs-")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{{"build", "-o", dir, "../../../../cmd/yuba-sandbox"}, {"build", "-C", "../../../../cmd/yuba-helm", "-o", dir, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return dir, nil
})

// helmReader reads charts with the real program.
type helmReader struct{ dir string }

func withHelm(t *testing.T) func(*Sources) {
	t.Helper()
	dir, err := helmPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return func(s *Sources) {
		identities, err := identity.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Charts, s.OCI = helmReader{dir}, NewOCI(s.Reader, archive.Limits{}.WithDefaults(), identities)
	}
}

func (h helmReader) do(ctx context.Context, call *wire.Call, input []byte) ([]byte, ChartVersion, error) {
	s, err := session.Start(ctx, func(name string) (string, error) { return filepath.Join(h.dir, name), nil }, nil)
	if err != nil {
		return nil, ChartVersion{}, err
	}
	defer s.Close()
	result, err := s.Do(ctx, call, input)
	if err != nil {
		return nil, ChartVersion{}, err
	}
	if result.Failure != nil {
		return nil, ChartVersion{}, &ChartError{Message: result.Failure.Message}
	}
	c := result.Chart
	return s.Output(), ChartVersion{Name: c.Name, Version: c.Version, Digest: c.Digest, URLs: c.URLs}, nil
}

func (h helmReader) Resolve(ctx context.Context, index []byte, name, version string) (ChartVersion, error) {
	_, v, err := h.do(ctx, &wire.Call{Operation: wire.Resolve, Chart: wire.ChartReference{Name: name, Version: version}}, index)
	return v, err
}

func (h helmReader) Package(ctx context.Context, tree []byte, r ChartRequest) ([]byte, ChartVersion, error) {
	return h.do(ctx, &wire.Call{Operation: wire.Package, Chart: wire.ChartReference{Path: r.Path, ValuesFiles: r.ValuesFiles, IgnoreMissing: r.IgnoreMissing, Metadata: r.Metadata}}, tree)
}

func (h helmReader) Inspect(ctx context.Context, packed []byte) (ChartVersion, error) {
	_, v, err := h.do(ctx, &wire.Call{Operation: wire.Inspect}, packed)
	return v, err
}

// appChart is a chart named app.
func appChart(version string) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, f := range [][2]string{{"app/Chart.yaml", "apiVersion: v2\nname: app\nversion: " + version + "\n"}, {"app/templates/x.yaml", "# " + version + "\n"}} {
		_ = w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))})
		_, _ = w.Write([]byte(f[1]))
	}
	_ = w.Close()
	_ = zipped.Close()
	return packed.Bytes()
}

// chartServer is a repository of charts over HTTP.
type chartServer struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte
	password string
	asked    map[string]int
}

func newChartServer(t *testing.T, tls bool) *chartServer {
	t.Helper()
	c := &chartServer{files: map[string][]byte{}, asked: map[string]int{}}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	if tls {
		c.StartTLS()
	} else {
		c.Start()
	}
	t.Cleanup(c.Close)
	return c
}

func (c *chartServer) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[r.URL.Path]++
	if _, password, _ := r.BasicAuth(); c.password != password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	content, ok := c.files[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = w.Write(content)
}

// offer puts versions of the chart app into the repository and its index.
func (c *chartServer) offer(versions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	index := "apiVersion: v1\nentries:\n  app:\n"
	for _, v := range versions {
		packed := appChart(v)
		sum := sha256.Sum256(packed)
		c.files["/charts/app-"+v+".tgz"] = packed
		index += fmt.Sprintf("  - {apiVersion: v2, name: app, version: %s, digest: %s, urls: [charts/app-%s.tgz]}\n", v, hex.EncodeToString(sum[:]), v)
	}
	c.files["/index.yaml"] = []byte(index)
}

func (c *chartServer) requests(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[path]
}

func (s *site) helmRepository(url string, change ...func(*sourcev1.HelmRepository)) *sourcev1.HelmRepository {
	s.t.Helper()
	o := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "charts"}, Spec: sourcev1.HelmRepositorySpec{URL: url, Interval: metav1.Duration{Duration: time.Hour}}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

func (s *site) helmChart(name, version string, change ...func(*sourcev1.HelmChart)) *sourcev1.HelmChart {
	s.t.Helper()
	o := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "app"}, Spec: sourcev1.HelmChartSpec{Chart: name, Version: version, Interval: metav1.Duration{Duration: time.Hour},
		SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.HelmRepositoryKind, Name: "charts"}}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

func TestAChartOfARepositoryOverHTTP(t *testing.T) {
	s := newSite(t, withHelm(t))
	server := newChartServer(t, true)
	server.password = "hunter2"
	server.offer("1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	s.secret("login", map[string]string{"username": "reader", "password": "wrong"})
	s.secret("ca", map[string]string{"ca.crt": string(ca)})
	repository := s.helmRepository(server.URL, func(o *sourcev1.HelmRepository) { o.Spec.SecretRef, o.Spec.CertSecretRef = ref("login"), ref("ca") })
	chart := s.helmChart("app", "1.x")
	s.awaitFailure(repository, sourcev1.IndexationFailedReason)
	if text := strings.Join(conditionLines(repository), "\n"); !strings.Contains(text, "the repository answers 401 Unauthorized") || strings.Contains(text, "wrong") {
		t.Error(text)
	}
	s.awaitFailure(chart, reasonNoArtifact)

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "login"}}
	s.change(secret, func() { secret.StringData = map[string]string{"password": "hunter2"} })
	s.awaitRevision(chart, "1.1.0")
	if c := conditions.Of(chart, "Ready"); c.Reason != sourcev1.ChartPullSucceededReason || c.Message != "pulled 'app' chart with version '1.1.0'" {
		t.Errorf("%+v", c)
	}
	if files := s.tree(chart); !strings.Contains(files["app/Chart.yaml"], "version: 1.1.0") {
		t.Errorf("%v", files)
	}
	// A new version in the index is a new artifact; the index says when.
	server.offer("1.0.0", "1.1.0", "1.2.0", "2.0.0")
	s.request(repository, "1")
	s.awaitRevision(chart, "1.2.0")
	// Without news, nothing is fetched.
	before := server.requests("/charts/app-1.2.0.tgz")
	s.request(repository, "2")
	s.await(repository, "it answers", func() bool { return repository.Status.LastHandledReconcileAt == "2" })
	if n := server.requests("/charts/app-1.2.0.tgz"); n != before || n != 1 {
		t.Errorf("%d requests for the chart, before %d", n, before)
	}
}

func TestChartsThatARepositoryDoesNotHave(t *testing.T) {
	s := newSite(t, withHelm(t))
	server := newChartServer(t, false)
	server.offer("1.0.0", "2.0.0")
	server.files["/charts/app-2.0.0.tgz"] = appChart("2.0.1")
	s.helmRepository(server.URL)
	chart := s.helmChart("other", "*")
	says := func(reason, want string) {
		t.Helper()
		s.await(chart, want, func() bool {
			c := conditions.Of(chart, "Ready")
			return c.Reason == reason && strings.Contains(c.Message, want)
		})
	}
	says(reasonChartReference, "no 'other' chart in the index")
	s.change(chart, func() { chart.Spec.Chart, chart.Spec.Version = "app", "3.x" })
	says(reasonChartReference, "no 'app' chart with version matching '3.x' found")
	s.change(chart, func() { chart.Spec.Version = "2.x" })
	says(reasonChartPull, "and not that of the index, sha256:")
	s.change(chart, func() { chart.Spec.SourceRef.Name = "nowhere" })
	says(reasonNoSource, "HelmRepository "+s.namespace+"/nowhere of spec.sourceRef does not exist")
	server.mu.Lock()
	server.files["/index.yaml"] = []byte("entries: {app: [{name: app, version: not a version}, {}, null]}")
	server.mu.Unlock()
	s.change(chart, func() { chart.Spec.SourceRef.Name, chart.Spec.Version = "charts", "*" })
	repository := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "charts"}}
	s.request(repository, "1")
	says(reasonChartReference, "no 'app' chart")
}

func TestIndexesThatAreNone(t *testing.T) {
	for sentence, c := range map[string]struct {
		url, index, want string
		stalled          bool
	}{
		"a page":                {"", "<html>hello</html>", "is not an index of charts", false},
		"a password in the URL": {"http://me:hunter2@localhost", "", "spec.url must not have credentials", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := newChartServer(t, false)
			server.files["/index.yaml"] = []byte(c.index)
			o := &sourcev1.HelmRepository{Spec: sourcev1.HelmRepositorySpec{URL: c.url}}
			if c.url == "" {
				o.Spec.URL = server.URL
			}
			_, err := lookIndex(t.Context(), nil, o)
			var failed *archive.FetchError
			if !errors.As(err, &failed) || failed.Stalled != c.stalled || !strings.Contains(failed.Message, c.want) || strings.Contains(failed.Message, "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAChartOfARegistry(t *testing.T) {
	s := newSite(t, withHelm(t))
	registry := ocitest.New(t, ocitest.BasicAuth("reader", "secret"))
	for _, version := range []string{"1.0.0", "1.1.0"} {
		image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{Layer: static.NewLayer(appChart(version), chartLayer)})
		if err == nil {
			err = crane.Push(image, registry.Host()+"/charts/app:"+version, registry.Options()...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	login := dockerConfig("login", registry.Host(), "secret")
	login.Namespace = s.namespace
	s.create(login)
	s.helmRepository("oci://"+registry.Host()+"/charts", func(o *sourcev1.HelmRepository) {
		o.Spec.Type, o.Spec.SecretRef, o.Spec.Insecure = sourcev1.HelmRepositoryTypeOCI, ref("login"), true
	})
	chart := s.helmChart("app", "1.x")
	s.awaitRevision(chart, "1.1.0")
	if files := s.tree(chart); !strings.Contains(files["app/Chart.yaml"], "version: 1.1.0") {
		t.Errorf("%v", files)
	}
}

func TestAChartOfAGitRepository(t *testing.T) {
	s := newSite(t, withHelm(t))
	repo := gittest.New(t).Repository(t, "charts")
	repo.Commit(t, "one", gittest.Files{"charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "charts/app/values.yaml": "a: 1\nb: 1\n", "charts/app/templates/x.yaml": "# one\n",
		"charts/app/.helmignore": "secret.txt\n", "charts/app/secret.txt": "x", "prod.yaml": "b: 2\n"})
	git := s.repository("git", repo.URL())
	chart := s.helmChart("charts/app", "", func(o *sourcev1.HelmChart) {
		o.Spec.SourceRef = sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "git"}
		o.Spec.ReconcileStrategy, o.Spec.ValuesFiles = sourcev1.ReconcileStrategyRevision, []string{"charts/app/values.yaml", "prod.yaml"}
	})
	s.await(chart, "it has a chart", func() bool {
		return chart.Status.Artifact != nil && strings.HasPrefix(chart.Status.Artifact.Revision, "1.0.0+")
	})
	files := s.tree(chart)
	if files["app/values.yaml"] != "a: 1\nb: 2\n" || files["app/secret.txt"] != "" || !strings.Contains(files["app/Chart.yaml"], "version: "+chart.Status.Artifact.Revision) {
		t.Errorf("%v", files)
	}
	first := chart.Status.Artifact.Revision
	repo.Commit(t, "two", gittest.Files{"charts/app/templates/x.yaml": "# two\n"})
	s.request(git, "1")
	s.await(chart, "it has the new chart", func() bool { return chart.Status.Artifact.Revision != first })
	s.change(chart, func() { chart.Spec.Chart = "charts/none" })
	s.awaitFailure(chart, reasonChartPackage)
}
