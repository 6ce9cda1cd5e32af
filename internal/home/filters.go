// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/yuba-dev/yuba/internal/kit/caller"
	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// bodyTime limits how long reading an object's body may take. The API server gives up on a request
// after the same time.
const bodyTime = time.Minute

// chain adds Yuba's filters around and inside those of the API server.
func (d door) chain(inner buildChain) buildChain {
	return func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		config.Authentication.Authenticator = caller.Authenticator(config.Authentication.Authenticator)
		return d.deadlines(caller.Remember(inner(d.known(decodable(handler)), config)))
	}
}

// door is the entrance for requests: the connections, and the time limit of a body.
type door struct {
	connections *listener.Listener
	bodyTime    time.Duration
}

type buildChain = func(http.Handler, *genericapiserver.Config) http.Handler

// deadlines limits how long reading a body may take: for objects the whole body, for content each
// pause.
func (d door) deadlines(next http.Handler) http.Handler {
	objects, content := listener.Bodies(next, d.bodyTime), listener.Bodies(next, 0)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, contentPrefix) {
			content.ServeHTTP(w, r)
			return
		}
		objects.ServeHTTP(w, r)
	})
}

// known tells the listener which connections make authorised requests.
func (d door) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok := request.UserFrom(r.Context()); ok && who.GetName() != user.Anonymous {
			d.connections.Know(r.RemoteAddr)
		}
		next.ServeHTTP(w, r)
	})
}

// decodable refuses CustomResourceDefinitions in protobuf, except from the API server itself:
// decoding a schema of two megabytes that nests as deep as it is long crashes the process.
func decodable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		who, _ := request.UserFrom(r.Context())
		itself := who != nil && who.GetName() == user.APIServerUser
		if ok && !itself && info.APIGroup == apiextensionsv1.GroupName && strings.Contains(strings.ToLower(r.Header.Get("Content-Type")), "protobuf") {
			http.Error(w, "CustomResourceDefinitions are not accepted as protobuf; send JSON or YAML", http.StatusUnsupportedMediaType)
			return
		}
		next.ServeHTTP(w, r)
	})
}
