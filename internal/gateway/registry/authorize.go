// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// byToken finds who sends a request by its bearer token.
func (s *Server) byToken(r *http.Request) (Identity, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return Anonymous(), nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Identity{}, &problemError{http.StatusUnauthorized, "the registry expects a bearer token: " + s.getToken(), "invalid_request"}
	}
	who, err := s.opts.Access.Identify(r.Context(), token)
	if errors.Is(err, ErrUnknownToken) {
		s.opts.Log.Warn("refused a token", "request", r.Method+" "+redactedPath(r), "from", r.RemoteAddr)
		reason := ErrUnknownToken.Error()
		var expired *ExpiredError
		if errors.As(err, &expired) {
			reason = expired.Error()
		}
		return Identity{}, &problemError{http.StatusUnauthorized, reason + ": " + s.getToken(), "invalid_token"}
	}
	if err != nil {
		return Identity{}, fmt.Errorf("find who has the token: %w", err)
	}
	listener.Authenticated(r.Context())
	return who, nil
}

// reader returns who asks, or an error unless they may read a namespace, or with an empty name all.
func (s *Server) reader(r *http.Request, by identify, resource, name string) (Identity, error) {
	who, err := by(r)
	if err != nil {
		return who, err
	}
	return who, s.may(r, who, Action{Verb: "get", Resource: resource, Name: name})
}

// mayRead returns an error unless who asks may read a namespace.
func (s *Server) mayRead(r *http.Request, by identify, resource, name string) error {
	_, err := s.reader(r, by, resource, name)
	return err
}

// may returns an error unless somebody may do something. Refusals are logged.
func (s *Server) may(r *http.Request, who Identity, what Action) error {
	reads := what.Verb == "get" || what.Verb == "list"
	if s.opts.Anonymous && reads && (what.Resource != ResourceMirror || s.opts.AnonymousMirror) {
		return nil
	}
	nobody := who.anonymous()
	allowed, reason := false, ""
	if !nobody || s.opts.Access != nil {
		var err error
		if allowed, reason, err = s.opts.Access.May(r.Context(), who, what); err != nil {
			return fmt.Errorf("find what %s may do: %w", who.Name, err)
		}
	}
	if allowed {
		return nil
	}
	s.opts.Log.Warn("refused", "who", who.Name, "verb", what.Verb, "resource", what.Resource, "namespace", what.Name, "reason", reason, "from", r.RemoteAddr)
	if nobody {
		return problem(http.StatusUnauthorized, "the registry needs a token: "+s.getToken())
	}
	refused := fmt.Sprintf("%s may not %s %s %q of the registry", who.Name, what.Verb, what.Resource, what.Name)
	if who.OwnToken {
		refused += ": " + reason + ". An administrator changes that in the registry's file of tokens"
	} else {
		refused += fmt.Sprintf(". Check with:\n    kubectl auth can-i %s %s.content.yuba.dev/%s --as %s", what.Verb, what.Resource, what.Name, who.Name)
	}
	return &problemError{http.StatusForbidden, refused, "insufficient_scope"}
}

// getToken says how to get a token, and where the tools look for it.
func (s *Server) getToken() string {
	text := fmt.Sprintf("run \"tofu login %s\", or set %s", s.opts.Host, tokenVariable(s.opts.Host))
	if s.opts.Login == nil {
		text = "set " + tokenVariable(s.opts.Host)
	}
	return text + ". An administrator makes one with \"yuba registry token create\""
}

// tokenVariable is the variable in which tofu and terraform look for a host's token. They cannot have
// one for a host with a port.
func tokenVariable(host string) string {
	if host == "" || strings.Contains(host, ":") {
		return "credentials in the CLI configuration"
	}
	return "TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
}
