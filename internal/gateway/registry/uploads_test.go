// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// put begins to publish acme/vpc/aws@1.0.0 with the bytes of a body that follow.
func (s *site) put(ctx context.Context, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, s.http.URL+content.PathPrefix+"/modules/acme?module=vpc/aws&version=1.0.0", body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.writer)
	return s.http.Client().Do(r)
}

func TestABusyRegistrySaysWhenToTryAgain(t *testing.T) {
	s := newSite(t, func(s *site, o *registry.Options) {
		var err error
		s.Catalog, err = catalog.Open(t.Context(), s.bucket, catalog.Options{Spool: t.TempDir(),
			Uploads: uploads.Limits{Places: 1, Patience: time.Millisecond, Retry: 7 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		o.Modules = s.Catalog
	})
	body, pipe := io.Pipe()
	first := make(chan error)
	go func() {
		response, err := s.put(t.Context(), body)
		if err == nil {
			err = errors.Join(response.Body.Close(), fmt.Errorf("%s", response.Status))
		}
		first <- err
	}()
	// The client has sent this when the server reads it, or will: so the second one may have to try again.
	archive, v := packed(t, ""), moduleVersion(t, "acme/vpc/aws@2.0.0")
	if _, err := pipe.Write(archive[:1]); err != nil {
		t.Fatal(err)
	}
	writer := s.client(s.writer)
	var err error
	for err == nil {
		_, err = writer.PublishModule(t.Context(), v, bytes.NewReader(archive), false)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds != 7 || !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "busy with other uploads: 1 are in progress") {
		t.Error(err)
	}
	response, err := s.put(t.Context(), bytes.NewReader(archive))
	if err != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "7" {
		t.Errorf("%+v, %v", response, err)
	}
	response.Body.Close()
	if _, err := pipe.Write(archive[1:]); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	if err := <-first; err == nil || err.Error() != "200 OK" {
		t.Error(err)
	}
}

func TestAClientThatGoesAwayInTheMiddlePublishesNothing(t *testing.T) {
	spool := t.TempDir()
	s := newSite(t, func(s *site, o *registry.Options) {
		var err error
		s.Catalog, err = catalog.Open(t.Context(), s.bucket, catalog.Options{Spool: spool, Uploads: uploads.Limits{Places: 1}})
		if err != nil {
			t.Fatal(err)
		}
		o.Modules = s.Catalog
	})
	archive := packed(t, "")
	for cut := range 3 {
		ctx, leave := context.WithCancel(t.Context())
		body := io.MultiReader(bytes.NewReader(archive[:cut*len(archive)/2]), reading(func() { leave() }))
		if response, err := s.put(ctx, body); err == nil {
			response.Body.Close()
			t.Errorf("answered %s", response.Status)
		}
		leave()
	}
	// The place is free again as soon as the server notices, and nothing is left.
	if _, err := s.client(s.writer).PublishModule(t.Context(), moduleVersion(t, "acme/vpc/aws@2.0.0"), bytes.NewReader(archive), false); err != nil {
		t.Error(err)
	}
	if _, err := s.Release(t.Context(), moduleVersion(t, "acme/vpc/aws@1.0.0")); !errors.Is(err, catalog.ErrNone) {
		t.Error(err)
	}
	if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// reading calls a function when it is read, and waits for the end of its request.
type reading func()

func (r reading) Read([]byte) (int, error) {
	r()
	return 0, context.Canceled
}

// full are modules whose store is full.
type full struct{ modules }

type modules = registry.Modules // whose method has the interface's name

func (full) Publish(context.Context, layout.ModuleVersion, io.Reader, catalog.PublishOptions) (catalog.Release, catalog.Changes, error) {
	return catalog.Release{}, catalog.Changes{}, fmt.Errorf("publish it: %w", &os.PathError{Op: "write", Path: "/data/registry/x", Err: syscall.ENOSPC})
}

func TestAFullStoreIsNoSecret(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) { o.Modules = full{o.Modules} })
	response, err := s.put(t.Context(), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusInsufficientStorage || !strings.Contains(string(text), "is full, and nothing was published. Free room there") || strings.Contains(string(text), "/data") {
		t.Errorf("%s %s, %v", response.Status, text, err)
	}
	if log := s.log.String(); !strings.Contains(log, "/data/registry/x: no space left on device") {
		t.Error(log)
	}
}
