// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

func (s *site) client(token string) *content.Client {
	s.t.Helper()
	c, err := content.NewClient(&rest.Config{Host: s.http.URL, BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestModulesArePublishedWithAToken(t *testing.T) {
	s := newSite(t)
	writer, reader, v := s.client(s.writer), s.client(s.reader), moduleVersion(t, "acme/vpc/aws@1.0.0")
	archive := packed(t, "output \"is\" {\n  value = 1\n}\n")
	if _, err := reader.PublishModule(t.Context(), v, bytes.NewReader(archive), false); !apierrors.IsForbidden(err) {
		t.Errorf("by a reader: %v", err)
	}
	if _, err := writer.PublishModule(t.Context(), moduleVersion(t, "other/vpc/aws@1.0.0"), bytes.NewReader(archive), false); !apierrors.IsForbidden(err) {
		t.Errorf("to another namespace: %v", err)
	}
	published, err := writer.PublishModule(t.Context(), v, bytes.NewReader(archive), false)
	if err != nil || published.Release.By != "registry-token:writer" {
		t.Errorf("%+v %v", published, err)
	}
	if again, err := writer.PublishModule(t.Context(), v, bytes.NewReader(archive), false); err != nil || !again.Changes.Existed {
		t.Errorf("the same again: %+v %v", again, err)
	}
	if _, err := writer.PublishModule(t.Context(), v, bytes.NewReader(packed(t, "# other\n")), false); !apierrors.IsConflict(err) {
		t.Errorf("other bytes: %v", err)
	}
	if _, err := writer.PublishModule(t.Context(), moduleVersion(t, "acme/vpc/aws@1.1.0"), bytes.NewReader([]byte("no archive")), false); !apierrors.IsInvalid(err) {
		t.Errorf("no archive: %v", err)
	}
	marked, err := writer.MarkModule(t.Context(), v, &catalog.Notice{Kind: catalog.Deprecated, Reason: "use 2", By: "somebody else"})
	if err != nil || marked.Notice == nil || marked.Notice.By != "registry-token:writer" {
		t.Errorf("%+v %v", marked, err)
	}
	list, err := reader.Modules(t.Context(), "acme")
	if err != nil || len(list.Items) != 1 || list.Items[0].Versions != 1 {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := reader.ModuleRelease(t.Context(), moduleVersion(t, "acme/vpc/aws@9.0.0")); !apierrors.IsNotFound(err) {
		t.Errorf("an unknown version: %v", err)
	}
}

// A token that publishes must not choose whose signatures clients trust.
func TestATokenThatPublishesDoesNotChangeSigningKeys(t *testing.T) {
	s := newSite(t)
	armor := []byte(registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0).Armor)
	for _, token := range []string{s.writer, s.reader} {
		if _, err := s.client(token).AddSigningKey(t.Context(), "acme", armor); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `may not update signingkeys "acme"`) {
			t.Errorf("a key was added: %v", err)
		}
	}
	// The path of earlier versions.
	r, body := s.ask(http.MethodPut, content.PathPrefix+"/providers/acme?keys=true", s.writer)
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("%s: %s", r.Status, body)
	}
	if r, body := s.ask(http.MethodDelete, content.PathPrefix+"/providers/acme?key=0123456789ABCDEF", s.writer); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%s: %s", r.Status, body)
	}
	key, err := s.client(s.keeper).AddSigningKey(t.Context(), "acme", armor)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client(s.keeper).AddSigningKey(t.Context(), "beta", armor); !apierrors.IsForbidden(err) {
		t.Errorf("a key of another namespace: %v", err)
	}
	if _, err := s.client(s.writer).RemoveSigningKey(t.Context(), "acme", key.ID); !apierrors.IsForbidden(err) {
		t.Errorf("a key was removed: %v", err)
	}
	for _, token := range []string{s.writer, s.reader, s.keeper} {
		if list, err := s.client(token).SigningKeys(t.Context(), "acme"); err != nil || len(list.Items) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if _, err := s.client(s.keeper).RemoveSigningKey(t.Context(), "acme", key.ID); err != nil {
		t.Error(err)
	}
}
