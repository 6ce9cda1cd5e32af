// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// exported is the content of a stack.
func exported(t *testing.T, c *content.Client, s *site) ([]byte, error) {
	t.Helper()
	body, err := c.Export(t.Context(), s.namespace, "vpc")
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return data, nil
}

// post sends a part as it is read, unlike the client, which reads it first.
func (s *site) post(part io.Reader) (int, string) {
	s.t.Helper()
	config := apitest.API(s.t).RESTConfig()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, config.Host+content.PathPrefix+"/namespaces/"+s.namespace+"/terraforms/vpc/import", part)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := c.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, readAll(s.t, answer.Body)
}

func TestOnlyAdministratorsMoveContent(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	admin := s.as("admin")
	var data []byte
	eventually(t, func() (err error) { // until the API server knows the role
		data, err = exported(t, admin, s)
		return err
	})
	for _, role := range []string{"view", "edit"} {
		if _, err := exported(t, s.as(role), s); !apierrors.IsForbidden(err) {
			t.Errorf("%s exports: %v", role, err)
		}
		if _, err := s.as(role).Import(t.Context(), s.namespace, "vpc", bytes.NewReader(data)); !apierrors.IsForbidden(err) {
			t.Errorf("%s imports: %v", role, err)
		}
	}
	if _, err := admin.Import(t.Context(), s.namespace, "vpc", bytes.NewReader(data)); err != nil {
		t.Errorf("an administrator may not import: %v", err)
	}
	if _, ok := imported.Load(run.StackOf(s.stack)); !ok {
		t.Error("the import was not reported")
	}
}

func TestContentIsImportedOnlyIntoSuspendedStacks(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	data, err := exported(t, s.as(""), s)
	if err != nil {
		t.Fatal(err)
	}
	var bad *parcel.BadError
	if _, err := s.as("").Import(t.Context(), s.namespace, "vpc", strings.NewReader("hello")); !errors.As(err, &bad) {
		t.Errorf("bad content: %v", err)
	}
	if code, answer := s.post(strings.NewReader("hello")); code != http.StatusBadRequest {
		t.Errorf("bad content of another client: %d %s", code, answer)
	}
	before := s.stack.DeepCopy()
	s.stack.Spec.Suspend = false
	if err := apitest.Client(t).Patch(t.Context(), s.stack, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.as("").Import(t.Context(), s.namespace, "vpc", bytes.NewReader(data)); !apierrors.IsConflict(err) {
		t.Errorf("a stack that works: %v", err)
	}
}

// slowly reads content, and does something in its middle.
type slowly struct {
	io.Reader
	then func()
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.then != nil {
		s.then()
		s.then = nil
	}
	return s.Reader.Read(p)
}

func TestAStackThatWorksAgainDuringAnImportGetsNothing(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	if err := s.blobs.PutBytes(t.Context(), run.StackOf(s.stack).LockFileKey(), []byte("the lock file")); err != nil {
		t.Fatal(err)
	}
	data, err := exported(t, s.as(""), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.blobs.Delete(t.Context(), run.StackOf(s.stack).LockFileKey()); err != nil {
		t.Fatal(err)
	}
	half := len(data) / 2
	resume := func() {
		before := s.stack.DeepCopy()
		s.stack.Spec.Suspend = false
		if err := apitest.Client(t).Patch(t.Context(), s.stack, client.MergeFrom(before)); err != nil {
			t.Error(err)
		}
	}
	body := io.MultiReader(bytes.NewReader(data[:half]), &slowly{bytes.NewReader(data[half:]), resume})
	if code, answer := s.post(body); code != http.StatusConflict {
		t.Errorf("the import: %d %s", code, answer)
	}
	if found, err := s.blobs.Exists(t.Context(), run.StackOf(s.stack).LockFileKey()); found || err != nil {
		t.Errorf("it was published: %v (%v)", found, err)
	}
}

// A history that is larger than a part travels in several requests, none of which is long.
func TestALongHistoryTravelsInParts(t *testing.T) {
	from := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	const size, count = 6 << 20, 8
	want := map[string]string{}
	for i := range count {
		id := fmt.Sprintf("20260102-03040%d.000-00000000aa", i)
		text := make([]byte, size)
		rand.Read(text) //nolint:errcheck // never fails, see its documentation
		rec := run.Record{Spec: run.Spec{ID: id, Stack: from.id(), Operation: run.OperationPlan}, Result: &run.Result{Outcome: run.OutcomeSucceeded}}
		data, err := json.Marshal(rec)
		if err := errors.Join(err, from.blobs.PutBytes(t.Context(), from.id().Key(id, run.BlobLog), text), from.blobs.PutBytes(t.Context(), from.id().Key(id, run.BlobRecord), data)); err != nil {
			t.Fatal(err)
		}
		want[id] = statefile.Digest(text)
	}
	var requests atomic.Int32
	admin := from.counting(&requests)
	data, err := exported(t, admin, from)
	if err != nil || len(data) < count*size {
		t.Fatalf("exported %d bytes (%v)", len(data), err)
	}
	if n := requests.Swap(0); n < 3 || n > count {
		t.Errorf("the export took %d requests", n)
	}
	for id := range want {
		if err := errors.Join(from.blobs.Delete(t.Context(), from.id().Key(id, run.BlobLog)), from.blobs.Delete(t.Context(), from.id().Key(id, run.BlobRecord))); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := admin.Import(t.Context(), from.namespace, "vpc", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if n := requests.Load(); n < 3 || n > count {
		t.Errorf("the import took %d requests", n)
	}
	if len(summary.Runs) != count || summary.Bytes < count*size {
		t.Errorf("summary %+v", summary)
	}
	for id, digest := range want {
		if text, err := from.blobs.Get(t.Context(), from.id().Key(id, run.BlobLog), 1<<30); err != nil || statefile.Digest(text) != digest {
			t.Errorf("the log of %s has %d bytes (%v)", id, len(text), err)
		}
	}
	_, err = admin.Import(t.Context(), from.namespace, "vpc", bytes.NewReader(data[:len(data)-size]))
	var bad *parcel.BadError
	if !errors.As(err, &bad) {
		t.Errorf("a truncated history: %v", err)
	}
}

// counting is a client that counts its requests.
func (s *site) counting(n *atomic.Int32) *content.Client {
	s.t.Helper()
	config := rest.CopyConfig(apitest.API(s.t).RESTConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			n.Add(1)
			return next.RoundTrip(r)
		})
	})
	c, err := content.NewClient(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
