// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestHooksOnlySayWhereToLook(t *testing.T) {
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), now: time.Now, ctx: t.Context(), reading: limiter.New(1), woken: make(chan event.GenericEvent, 10)}
	m := &memory{name: types.NamespacedName{Namespace: "prod", Name: "prs"}, uid: "u", hookPath: HookPath + "abc", hookSecret: "secret-of-the-hook", hookKinds: []forge.Kind{forge.Gitea}}
	r.memories.add(m)
	send := func(path, secret, body string) int {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Gitea-Event", "pull_request")
		request.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		return w.Code
	}
	const opened = `{"action":"opened","number":5,"pull_request":{"number":5},"repository":{"id":77,"full_name":"acme/infra"},"sender":{"id":2,"login":"alice"}}`
	for _, c := range []struct {
		sentence, path, secret, body string
		code, events                 int
	}{
		{"an unknown path", HookPath + "abd", "secret-of-the-hook", opened, http.StatusNotFound, 0},
		{"no path", HookPath, "secret-of-the-hook", opened, http.StatusNotFound, 0},
		{"a forged hook", HookPath + "abc", "guessed", opened, http.StatusForbidden, 0},
		{"a hook", HookPath + "abc", "secret-of-the-hook", opened, http.StatusOK, 1},
		{"the same hook again", HookPath + "abc", "secret-of-the-hook", opened, http.StatusOK, 0},
		{"what is not JSON", HookPath + "abc", "secret-of-the-hook", "{", http.StatusBadRequest, 0},
	} {
		if code := send(c.path, c.secret, c.body); code != c.code {
			t.Errorf("%s: %d, want %d", c.sentence, code, c.code)
		}
		if events, _ := m.news(); len(events) != c.events {
			t.Errorf("%s: the events are %+v", c.sentence, events)
		}
	}
}
