// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// WebLink is the response of /weblinks.
type WebLink struct {
	// URL logs the user who asked for it in to the page, once and within a minute.
	URL string `json:"url"`
}

// webLink makes a link to the page for the user whom the API server has authenticated.
func (h *Handler) webLink(w http.ResponseWriter, r *http.Request) error {
	if h.WebLink == nil {
		return notFound("this server has no page: start it with --web and --http-address (the chart's value web.enabled)")
	}
	info, ok := request.UserFrom(r.Context())
	if !ok || info.GetName() == "" {
		return apierrors.NewUnauthorized("the API server did not say who you are")
	}
	who := authenticationv1.UserInfo{Username: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups()}
	for key, values := range info.GetExtra() {
		if who.Extra == nil {
			who.Extra = map[string]authenticationv1.ExtraValue{}
		}
		who.Extra[key] = values
	}
	url, err := h.WebLink(who)
	if err != nil {
		var known apierrors.APIStatus
		if errors.As(err, &known) {
			return err
		}
		return apierrors.NewTooManyRequests(err.Error(), 60)
	}
	return writeJSON(w, WebLink{URL: url})
}

// WebLink returns a link that opens the page as the client's user, once.
func (c *Client) WebLink(ctx context.Context) (WebLink, error) {
	return ask[WebLink](ctx, c, http.MethodPost, PathPrefix+"/weblinks", nil, nil)
}
