// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/objects/clusters"
)

// forward returns a handler that sends requests to an API, as the user of the configuration.
func forward(target *rest.Config) (http.Handler, error) {
	server, _, err := rest.DefaultServerUrlFor(target)
	if err != nil {
		return nil, errors.New("the address of the cluster is not a URL")
	}
	transport, err := rest.TransportFor(target)
	if err != nil {
		return nil, fmt.Errorf("use the credentials of the cluster: %w", err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Host = ""
			for name := range r.Out.Header {
				if name == "Authorization" || strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
		},
		Transport: transport, FlushInterval: -1, ErrorHandler: unreachable,
	}, nil
}

// unreachable answers for a cluster that does not, as an API server would.
func unreachable(w http.ResponseWriter, _ *http.Request, err error) {
	text := outbound.Explain(err)
	if errors.Is(err, clusters.ErrRedirected) {
		text = clusters.ErrRedirected.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusBadGateway,
		Message: fmt.Sprintf("the cluster cannot be reached: %s", text)}
	_ = json.NewEncoder(w).Encode(status) // the program notices
}
