// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// receivers serves the Receivers of the site's namespace.
func (s *site) receivers() *httptest.Server {
	s.t.Helper()
	mgr, err := ctrl.NewManager(rest.CopyConfig(apitest.API(s.t).RESTConfig()), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &receive.Receivers{Client: mgr.GetClient(), Events: &heard{}, Log: slog.New(slog.DiscardHandler)}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		s.t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	hooks := httptest.NewServer(r)
	s.t.Cleanup(func() {
		hooks.Close()
		stop()
		if err := <-stopped; err != nil {
			s.t.Error(err)
		}
	})
	return hooks
}

// A push of a tag is published at once by the host's hook, without waiting for the interval of an hour.
func TestAHookPublishesANewTag(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	hooks := s.receivers()
	repo := server.Repository(t, "vpc")
	repo.Commit(t, "first", module("", "cidr"))
	repo.Tag(t, "v1.0.0")
	o := s.source(repo.URL(), []string{"vpc/aws"})
	s.ready(o, "published 1 version")
	s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "token"}, StringData: map[string]string{"token": "t0ken"}})
	receiver := &notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "push"}, Spec: notificationv1.ReceiverSpec{
		Type: "github", Events: []string{"create"}, SecretRef: &meta.LocalObjectReference{Name: "token"},
		Resources: []notificationv1.ReceiverResource{{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{Kind: "ModuleSource", Name: o.Name}}}}}
	s.create(receiver)
	eventually(t, func() error {
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(receiver), receiver); err != nil || receiver.Status.WebhookPath == "" {
			return fmt.Errorf("no path yet: %v; %+v", err, receiver.Status)
		}
		return nil
	})
	send := func(token string) int {
		const body = `{"ref": "v1.1.0", "ref_type": "tag"}`
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte(body))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hooks.URL+receiver.Status.WebhookPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		request.Header.Set("X-GitHub-Event", "create")
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	repo.Tag(t, "v1.1.0")
	if got := send("wr0ng"); got != http.StatusBadRequest {
		t.Errorf("a wrong signature is answered with %d", got)
	}
	if got := s.versions("vpc/aws"); got != "1.0.0@v1.0.0" {
		t.Errorf("published: %s", got)
	}
	if got := send("t0ken"); got != http.StatusOK {
		t.Errorf("the hook is answered with %d", got)
	}
	s.ready(o, "published 2 versions")
	if got := s.versions("vpc/aws"); got != "1.1.0@v1.1.0 1.0.0@v1.0.0" || o.Status.LastHandledReconcileAt == "" {
		t.Errorf("published: %s, %+v", got, o.Status)
	}
}
