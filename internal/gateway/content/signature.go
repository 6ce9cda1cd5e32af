// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net/http"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/sealed"
)

// maxSigned limits the header of an archive.
const maxSigned = 4 << 20

// sign signs the header of a sealed archive that names the stack. It signs nothing else.
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
	h.Log.Info("archive signed", "stack", run.StackOf(obj).String(), "by", user(r))
	return writeJSON(w, signature)
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
