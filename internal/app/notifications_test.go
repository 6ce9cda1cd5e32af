// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// Beside Flux, its notification-controller hears of everything, in its form, and which page it is about.
func TestEventsArePostedToANotificationController(t *testing.T) {
	events := make(chan eventv1.Event, 100)
	flux := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e eventv1.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		select {
		case events <- e:
		default:
		}
	}))
	defer flux.Close()
	running(t, func(o *ControllerOptions) { o.EventsAddr, o.Web.URL = flux.URL, "https://yuba.example.com/" })
	namespace := apitest.Namespace(t)
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vpc"}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "missing"}}}
	if err := apitest.Client(t).Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case e := <-events:
			if o := e.InvolvedObject; o.Namespace != namespace {
				continue // another test's
			} else if o.Kind != "Terraform" || o.Name != "vpc" || o.APIVersion != infrav1.GroupVersion.String() || e.Severity != "error" || e.Reason != infrav1.ReasonArtifactFailed {
				t.Errorf("%+v", e)
			}
			if page, want := e.Metadata[infrav1.GroupVersion.Group+"/page"], "https://yuba.example.com/stacks/"+namespace+"/vpc"; page != want {
				t.Errorf("the page is %q, want %q", page, want)
			}
			return
		case <-time.After(2 * time.Minute):
			t.Fatal("no event was posted in two minutes")
		}
	}
}

func TestEventsAddr(t *testing.T) {
	for address, want := range map[string]bool{"": true, "http://notification-controller.flux-system.svc.cluster.local./": true, "https://x:1": true,
		"notification-controller": false, "ftp://x": false, "http://": false, "http://%zz": false} {
		if err := CheckEventsAddr(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Whoever sends a hook while the server starts is told to come again.
func TestHooksBeforeTheServerIsReady(t *testing.T) {
	w := httptest.NewRecorder()
	(&hooks{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hook/x", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
