// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package caller

import (
	"context"
	"net/http"
	"sync/atomic"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"
)

type key struct{}

// Remember prepares requests for [Authenticator]. It must be outside of the filter that authenticates.
func Remember(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, &atomic.Pointer[string]{})))
	})
}

// Authenticator notes whom another one has authenticated.
func Authenticator(inner authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		answer, ok, err := inner.AuthenticateRequest(r)
		if ok && err == nil && answer != nil && answer.User != nil {
			if holder, there := r.Context().Value(key{}).(*atomic.Pointer[string]); there {
				name := answer.User.GetName()
				holder.Store(&name)
			}
		}
		return answer, ok, err
	})
}

// Impersonator is the user who sent a request as another one; empty if nobody did, or if this server has
// not authenticated the caller itself.
func Impersonator(ctx context.Context) string {
	holder, _ := ctx.Value(key{}).(*atomic.Pointer[string])
	if holder == nil {
		return ""
	}
	name := holder.Load()
	acting, ok := request.UserFrom(ctx)
	if name == nil || !ok || acting.GetName() == *name {
		return ""
	}
	return *name
}
