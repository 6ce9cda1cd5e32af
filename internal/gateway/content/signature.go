// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/sealed"
)

// maxSigned limits the header of an archive.
const maxSigned = 4 << 20

// maxReviews limits the namespaces and stacks of one header that the API server is asked about.
const maxReviews = 2000

// sign signs the header of a sealed archive that names the stack, and others only if the caller may sign archives
// of each of them. It signs nothing else.
func (h *Handler) sign(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	key, err := h.signingKey()
	if err != nil {
		return err
	}
	header, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSigned))
	if err != nil {
		return err
	}
	signature, err := sealed.Sign(key, header, run.StackOf(obj).String(), h.StoreID)
	var bad *sealed.BadError
	if errors.As(err, &bad) {
		return badRequest(err.Error())
	}
	if err != nil {
		return err
	}
	// Only now, as the header can be read; nothing has left the server yet.
	stacks, err := sealed.StacksOf(header)
	if err != nil {
		return err
	}
	if err := h.maySignAll(r, run.StackOf(obj).String(), stacks); err != nil {
		return err
	}
	h.Log.Info("archive signed", "stack", run.StackOf(obj).String(), "by", user(r))
	return writeJSON(w, signature)
}

// maySignAll refuses stacks that the caller may not sign archives of. The API server has authorised one of them.
func (h *Handler) maySignAll(r *http.Request, authorised string, stacks []string) error {
	info, known := request.UserFrom(r.Context())
	whole := map[string]bool{} // by namespace: all stacks
	reviews := 0
	may := func(namespace, name string) (bool, error) {
		if reviews++; reviews > maxReviews {
			return false, badRequest("sign an archive: it has stacks of too many namespaces. Write several archives")
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: Group, Version: Version, Resource: "terraforms", Subresource: "signature",
				Verb: "create", Namespace: namespace, Name: name},
		}}
		for key, values := range info.GetExtra() {
			review.Spec.Extra[key] = values
		}
		if err := h.Client.Create(r.Context(), review); err != nil {
			return false, fmt.Errorf("ask whether %s may sign archives of namespace %s: %w", info.GetName(), namespace, err)
		}
		return review.Status.Allowed, nil
	}
	for _, stack := range stacks {
		namespace, name, ok := strings.Cut(stack, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return badRequest("sign an archive: its header names a stack that is not NAMESPACE/NAME")
		}
		if stack == authorised {
			continue
		}
		if !known || info.GetName() == "" {
			return apierrors.NewUnauthorized("sign an archive: the API server did not say who you are")
		}
		allowed, asked := whole[namespace]
		var err error
		if !asked {
			if allowed, err = may(namespace, ""); err != nil {
				return err
			}
			whole[namespace] = allowed
		}
		if !allowed {
			if allowed, err = may(namespace, name); err != nil {
				return err
			}
		}
		if !allowed {
			return apierrors.NewForbidden(schema.GroupResource{Group: Group, Resource: "terraforms/signature"}, stack,
				errors.New("its archives you may not sign. Leave it out, or ask for the role admin in its namespace"))
		}
	}
	return nil
}

// signer serves the public key of this home's archives.
func (h *Handler) signer(w http.ResponseWriter, _ *http.Request, _ *infrav1.Terraform) error {
	key, err := h.signingKey()
	if err != nil {
		return err
	}
	public, err := sealed.PublicPEM(key)
	if err != nil {
		return err
	}
	return writeJSON(w, sealed.Signature{PublicKey: public, HomeID: h.StoreID})
}

func (h *Handler) signingKey() (ed25519.PrivateKey, error) {
	if h.SigningKey == nil {
		return nil, notFound("this server does not sign archives")
	}
	return h.SigningKey()
}

// Sign has the home sign the header of an archive with this stack.
func (c *Client) Sign(ctx context.Context, namespace, name string, header []byte) (sealed.Signature, error) {
	return ask[sealed.Signature](ctx, c, http.MethodPost, stackPath(namespace, name, "signature"), nil, bytes.NewReader(header))
}

// Signer returns the public key of the home's archives.
func (c *Client) Signer(ctx context.Context, namespace, name string) (sealed.Signature, error) {
	return ask[sealed.Signature](ctx, c, http.MethodGet, stackPath(namespace, name, "signature"), nil, nil)
}

// OpenState reads the current state as a stream.
func (c *Client) OpenState(ctx context.Context, namespace, name string) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, stackPath(namespace, name, "state"), nil, nil)
}
