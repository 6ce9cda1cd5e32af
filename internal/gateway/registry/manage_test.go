// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"encoding/pem"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
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
