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

	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// bodyTime is how long the body of an object may take. After as long the API server gives a request up.
const bodyTime = time.Minute

// chain puts our own filters around and inside those of the API server.
func (d door) chain(inner buildChain) buildChain {
	return func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return d.deadlines(inner(d.known(decodable(handler)), config))
	}
}

// door is where requests come in: the connections, and how long a body may take.
type door struct {
	connections *listener.Listener
	bodyTime    time.Duration
}

type buildChain = func(http.Handler, *genericapiserver.Config) http.Handler

// deadlines bounds how long bodies take: those of objects in all, those of content as long as they do not come.
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

// known tells the listener whose connection makes requests that are allowed.
func (d door) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok := request.UserFrom(r.Context()); ok && who.GetName() != user.Anonymous {
			d.connections.Know(r.RemoteAddr)
		}
		next.ServeHTTP(w, r)
	})
}

// decodable refuses kinds in protobuf, other than the API server's own. Schemas in them can be nested as deep as a body is
// long, and decoding them takes a frame of the stack for each level: two megabytes end the process. JSON and YAML are
// decoded to a bounded depth.
func decodable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		who, _ := request.UserFrom(r.Context())
		itself := who != nil && who.GetName() == user.APIServerUser
		if ok && !itself && info.APIGroup == apiextensionsv1.GroupName && strings.Contains(strings.ToLower(r.Header.Get("Content-Type")), "protobuf") {
			http.Error(w, "kinds are not taken as protobuf; send JSON or YAML", http.StatusUnsupportedMediaType)
			return
		}
		next.ServeHTTP(w, r)
	})
}
