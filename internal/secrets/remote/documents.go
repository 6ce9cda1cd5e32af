// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
)

// The sizes of secrets that the services accept.
const (
	roomAWS    = 64 << 10
	roomGoogle = 64 << 10
	roomAzure  = 25_000
)

// tooLarge is an error if a document does not fit.
func tooLarge(content []byte, room int) error {
	if len(content) > room {
		return &store.RefusedError{Reason: fmt.Sprintf("the document has %d bytes, and a secret has at most %d", len(content), room)}
	}
	return nil
}

// writing says what was attempted.
func writing(name string, err error) error { return fmt.Errorf("write %s: %w", name, err) }

// AWSDocument is a secret of Secrets Manager that Yuba writes.
type AWSDocument struct {
	SecretsManager
	Secret, KeyID string
}

// Name implements store.Store.
func (d *AWSDocument) Name() string { return "secret " + d.Secret + " of " + d.SecretsManager.Name() }

// Room is how many bytes a secret has.
func (*AWSDocument) Room() int { return roomAWS }

// Read implements store.Store. The tag is the ID of the version.
func (d *AWSDocument) Read(ctx context.Context) (store.Document, error) {
	var out secretValue
	err := d.call(ctx, "GetSecretValue", map[string]any{"SecretId": d.Secret}, &out)
	if refused(err, "ResourceNotFoundException") {
		return store.Document{}, nil
	}
	if err != nil {
		return store.Document{}, fmt.Errorf("read %s: %w", d.Name(), err)
	}
	return store.Document{Content: out.bytes(), Tag: out.VersionId}, nil
}

// current is the stage of the current version, and pending that of one that is not current yet.
const (
	current = "AWSCURRENT"
	pending = "YUBAPENDING"
)

// Write implements store.Store. A new version is first added beside the current one; then the stage AWSCURRENT
// moves to it from the version that was read. The service refuses if that version is no longer the current one.
func (d *AWSDocument) Write(ctx context.Context, content []byte, over string) error {
	if err := tooLarge(content, roomAWS); err != nil {
		return writing(d.Name(), err)
	}
	token, err := newToken()
	if err != nil {
		return writing(d.Name(), err)
	}
	if over == "" {
		in := map[string]any{"Name": d.Secret, "SecretString": string(content), "ClientRequestToken": token}
		if d.KeyID != "" {
			in["KmsKeyId"] = d.KeyID
		}
		err := d.call(ctx, "CreateSecret", in, &struct{}{})
		if err == nil {
			return nil
		}
		if !refused(err, "ResourceExistsException") {
			return writing(d.Name(), err)
		}
		// It exists, perhaps without a version, as Terraform makes secrets: then nobody is to have AWSCURRENT.
	}
	var put secretValue
	// The first version of a secret is the current one at once.
	err = d.call(ctx, "PutSecretValue", map[string]any{"SecretId": d.Secret, "SecretString": string(content), "ClientRequestToken": token, "VersionStages": []string{pending}}, &put)
	if err != nil {
		return writing(d.Name(), err)
	}
	if over == "" && slices.Contains(put.VersionStages, current) {
		return nil
	}
	move := map[string]any{"SecretId": d.Secret, "VersionStage": current, "MoveToVersionId": put.VersionId}
	if over != "" {
		move["RemoveFromVersionId"] = over
	}
	err = d.call(ctx, "UpdateSecretVersionStage", move, &struct{}{})
	if refused(err, "InvalidParameterException") {
		err = store.ErrMoved
	}
	if err != nil {
		return writing(d.Name(), err)
	}
	return nil
}

func newToken() (string, error) {
	var random [16]byte
	_, err := rand.Read(random[:])
	return hex.EncodeToString(random[:]), err
}

// GoogleDocument is a secret of Google's Secret Manager that Yuba writes. The service cannot compare and write in
// one step: a window of one request remains, and the loss is reported and in the secret's versions.
type GoogleDocument struct {
	Google
	Secret string
}

// Name implements store.Store.
func (d *GoogleDocument) Name() string { return "secret " + d.Secret + " of " + d.Google.Name() }

// Room is how many bytes a secret has.
func (*GoogleDocument) Room() int { return roomGoogle }

// Read implements store.Store. The tag is the number of the version.
func (d *GoogleDocument) Read(ctx context.Context) (store.Document, error) {
	content, number, err := d.access(ctx, d.Secret, "latest")
	if isMissing(err) {
		return store.Document{}, nil
	}
	return store.Document{Content: content, Tag: number}, err
}

// Write implements store.Store.
func (d *GoogleDocument) Write(ctx context.Context, content []byte, over string) error {
	if err := tooLarge(content, roomGoogle); err != nil {
		return writing(d.Name(), err)
	}
	now, err := d.Read(ctx)
	if err != nil {
		return err
	}
	if now.Tag != over {
		return writing(d.Name(), store.ErrMoved)
	}
	if over == "" {
		err := d.call(ctx, http.MethodPost, "/secrets?secretId="+url.QueryEscape(d.Secret), map[string]any{"replication": map[string]any{"automatic": map[string]any{}}}, nil)
		if err != nil && !isStatus(err, http.StatusConflict) { // it may exist without a version
			return writing(d.Name(), err)
		}
	}
	var out struct{ Name string }
	err = d.call(ctx, http.MethodPost, "/secrets/"+url.PathEscape(d.Secret)+":addVersion", map[string]any{"payload": map[string]any{"data": content}}, &out)
	if err != nil {
		return writing(d.Name(), err)
	}
	number, errNumber := strconv.ParseInt(out.Name[strings.LastIndexByte(out.Name, '/')+1:], 10, 64)
	was, _ := strconv.ParseInt(over, 10, 64) // 0 if there was none
	if errNumber == nil && over != "" && number != was+1 {
		return writing(d.Name(), fmt.Errorf("somebody else added version %d at the same time; it is not the latest any more, and is kept", number-1))
	}
	return nil
}

// AzureDocument is a secret of a key vault that Yuba writes. The service cannot compare and write in one step: a
// window of one request remains.
type AzureDocument struct {
	Azure
	Secret string
}

// Name implements store.Store.
func (d *AzureDocument) Name() string { return "secret " + d.Secret + " of " + d.Azure.Name() }

// Room is how many bytes a secret has.
func (*AzureDocument) Room() int { return roomAzure }

// Read implements store.Store. The tag is the ID of the version.
func (d *AzureDocument) Read(ctx context.Context) (store.Document, error) {
	found, err := d.get(ctx, d.Secret, "")
	if isMissing(err) {
		return store.Document{}, nil
	}
	if err != nil {
		return store.Document{}, err
	}
	return store.Document{Content: []byte(found.Value), Tag: found.last()}, nil
}

// Write implements store.Store.
func (d *AzureDocument) Write(ctx context.Context, content []byte, over string) error {
	if err := tooLarge(content, roomAzure); err != nil {
		return writing(d.Name(), err)
	}
	now, err := d.Read(ctx)
	if err != nil {
		return err
	}
	if now.Tag != over {
		return writing(d.Name(), store.ErrMoved)
	}
	err = d.call(ctx, http.MethodPut, d.address(d.Secret), map[string]any{"value": string(content), "contentType": "application/json"}, nil)
	if isStatus(err, http.StatusConflict) {
		err = errors.Join(err, errors.New("if the secret was deleted, recover or purge it first"))
	}
	if err != nil {
		return writing(d.Name(), err)
	}
	return nil
}
