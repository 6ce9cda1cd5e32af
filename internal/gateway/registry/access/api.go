// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
)

// memory is how long answers count.
const memory = 10 * time.Second

// patience limits a review; the tools give up after ten seconds.
const patience = 8 * time.Second

// API asks an API server.
type API struct {
	tokens authenticator.Request
	rights authorizer.Authorizer
}

var _ registry.Access = (*API)(nil)

// NewAPI returns the access that an API server decides. Its client needs the rights to create token
// reviews and subject access reviews.
func NewAPI(api kubernetes.Interface) (*API, error) {
	backoff := genericoptions.DefaultAuthWebhookRetryBackoff()
	tokens, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{Anonymous: &apiserver.AnonymousAuthConfig{},
		TokenAccessReviewClient: api.AuthenticationV1(), TokenAccessReviewTimeout: patience, WebhookRetryBackoff: backoff, CacheTTL: memory}.New()
	if err != nil {
		return nil, fmt.Errorf("set up the registry's authentication: %w", err)
	}
	rights, err := authorizerfactory.DelegatingAuthorizerConfig{SubjectAccessReviewClient: api.AuthorizationV1(), WebhookRetryBackoff: backoff,
		AllowCacheTTL: memory, DenyCacheTTL: memory}.New()
	if err != nil {
		return nil, fmt.Errorf("set up the registry's authorisation: %w", err)
	}
	return &API{tokens, rights}, nil
}

// Identify implements registry.Access. It accepts tokens for the registry, and tokens for the API.
func (a *API) Identify(ctx context.Context, token string) (registry.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := readClaims(token)
	if slices.Contains(c.audiences, Audience) {
		who, err := a.review(authenticator.WithAudiences(ctx, authenticator.Audiences{Audience}), token)
		if !errors.Is(err, registry.ErrUnknownToken) {
			who.RegistryOnly = len(c.audiences) == 1
			return who, err
		}
	}
	// An issuer of OIDC may have given the token that audience, too; the API server knows of its own only.
	who, err := a.review(ctx, token)
	if errors.Is(err, registry.ErrUnknownToken) && !c.expires.IsZero() && !time.Now().Before(c.expires) {
		err = &registry.ExpiredError{At: c.expires}
	}
	return who, err
}

// review asks who has a token for the audiences in ctx; without any, for the API.
func (a *API) review(ctx context.Context, token string) (registry.Identity, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return registry.Identity{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, ok, err := a.tokens.AuthenticateRequest(request)
	if err != nil && (ctx.Err() != nil || unanswered(err)) {
		return registry.Identity{}, fmt.Errorf("review a token: %w", err)
	}
	if err != nil || !ok {
		return registry.Identity{}, registry.ErrUnknownToken // the error may quote the token
	}
	who := answer.User
	return registry.Identity{Name: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: who.GetExtra()}, nil
}

// unanswered reports whether the review of a token failed, which says nothing about the token.
func unanswered(err error) bool {
	var several utilerrors.Aggregate
	if errors.As(err, &several) {
		return slices.ContainsFunc(several.Errors(), unanswered)
	}
	var connection *url.Error
	var status apierrors.APIStatus
	return errors.As(err, &connection) || errors.As(err, &status)
}

// May implements registry.Access.
func (a *API) May(ctx context.Context, who registry.Identity, what registry.Action) (bool, string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	decision, reason, err := a.rights.Authorize(ctx, authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: who.Name, UID: who.UID, Groups: who.Groups, Extra: who.Extra},
		Verb: what.Verb, APIGroup: cmp.Or(what.Group, content.Group), APIVersion: content.Version, Resource: what.Resource, Namespace: what.Namespace, Name: what.Name, ResourceRequest: true})
	if err != nil {
		return false, "", fmt.Errorf("review the rights of %s: %w", who.Name, err)
	}
	return decision == authorizer.DecisionAllow, reason, nil
}
