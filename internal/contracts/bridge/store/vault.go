// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
)

// Vault is a secret in the KV engine, version 2. The attributes of the document are its keys.
type Vault struct {
	Address, Mount, Path, Namespace, Token string
	// Client reaches Address; nil for one that reaches private addresses, too.
	Client *http.Client
}

// Name implements [Store].
func (v *Vault) Name() string { return "vault " + cmp.Or(v.Mount, "secret") + "/" + v.Path }

// Read implements [Store]. A secret whose last version is deleted is not there; the tag is the number of
// that version, because the next write must name it.
func (v *Vault) Read(ctx context.Context) (Document, error) {
	status, text, err := v.call(ctx, http.MethodGet, "data", nil)
	if err != nil {
		return Document{}, failed("read", v.Name(), err)
	}
	var out struct {
		Data struct {
			Data     json.RawMessage
			Metadata struct{ Version int64 }
		}
		Errors []string
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return Document{}, failed("read", v.Name(), fmt.Errorf("the answer (%d) is not JSON", status))
	}
	switch {
	case status == http.StatusNotFound:
		return Document{}, nil
	case status != http.StatusOK:
		return Document{}, failed("read", v.Name(), v.explained(status, out.Errors, "read"))
	}
	return Document{out.Data.Data, strconv.FormatInt(out.Data.Metadata.Version, 10)}, nil
}

// Write implements [Store].
func (v *Vault) Write(ctx context.Context, content []byte, over string) error {
	if !strings.HasPrefix(strings.TrimSpace(string(content)), "{") {
		return failed("write", v.Name(), refused("the document is not an object, and a secret of Vault has keys"))
	}
	if number := rounded(content); number != "" {
		return failed("write", v.Name(), refused("Vault would round the number %s, as it keeps numbers as doubles. Publish it as a string, or leave it out with spec.reads", number))
	}
	version, err := strconv.ParseInt(cmp.Or(over, "0"), 10, 64)
	if err != nil {
		return failed("write", v.Name(), err)
	}
	if over == "" {
		// A deleted secret continues its versions.
		if version, err = v.deleted(ctx); err != nil {
			return failed("write", v.Name(), err)
		}
	}
	body, err := json.Marshal(map[string]any{"options": map[string]any{"cas": version}, "data": json.RawMessage(content)})
	if err != nil {
		return failed("write", v.Name(), err)
	}
	status, text, err := v.call(ctx, http.MethodPost, "data", body)
	if err != nil {
		return failed("write", v.Name(), err)
	}
	if status != http.StatusOK {
		err := v.errorIn(status, text, "create, update")
		if strings.Contains(err.Error(), "check-and-set parameter did not match") {
			err = ErrMoved
		}
		return failed("write", v.Name(), err)
	}
	return nil
}

// rounded returns a number that Vault would change: its KV engine reads numbers as doubles.
func rounded(content []byte) string {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return "" // its end
		}
		n, ok := token.(json.Number)
		if !ok {
			continue
		}
		double, err := n.Float64()
		was, fine := new(big.Rat).SetString(n.String())
		is, kept := new(big.Rat).SetString(strconv.FormatFloat(double, 'g', -1, 64))
		if err != nil || !fine || !kept || was.Cmp(is) != 0 {
			return n.String()
		}
	}
}

// deleted returns the version of a secret whose last version is deleted, or 0.
func (v *Vault) deleted(ctx context.Context) (int64, error) {
	status, text, err := v.call(ctx, http.MethodGet, "data", nil)
	if err != nil || status != http.StatusNotFound {
		return 0, err
	}
	var out struct {
		Data struct {
			Metadata struct{ Version int64 }
		}
	}
	if json.Unmarshal(text, &out) != nil {
		return 0, nil // there was never a version
	}
	return out.Data.Metadata.Version, nil
}

// Delete implements [Store]. It deletes the last version; Vault keeps the earlier ones.
func (v *Vault) Delete(ctx context.Context, tag string) error {
	now, err := v.Read(ctx)
	if err != nil || now.Tag == "" {
		return err
	}
	if now.Tag != tag {
		return failed("remove", v.Name(), ErrMoved)
	}
	status, text, err := v.call(ctx, http.MethodDelete, "data", nil)
	if err == nil && status != http.StatusNoContent && status != http.StatusNotFound {
		err = v.errorIn(status, text, "delete")
	}
	if err != nil {
		return failed("remove", v.Name(), err)
	}
	return nil
}

func (v *Vault) call(ctx context.Context, method, part string, body []byte) (int, []byte, error) {
	url := strings.TrimSuffix(v.Address, "/") + "/v1/" + cmp.Or(v.Mount, "secret") + "/" + part + "/" + v.Path
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-Vault-Token", v.Token)
	r.Header.Set("X-Vault-Request", "true")
	if v.Namespace != "" {
		r.Header.Set("X-Vault-Namespace", v.Namespace)
	}
	answer, err := clientOr(v.Client).Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := limited(answer.Body, 2*Limit)
	return answer.StatusCode, text, err
}

func (v *Vault) errorIn(status int, text []byte, needs string) error {
	var out struct{ Errors []string }
	json.Unmarshal(text, &out) //nolint:errcheck // the status is enough
	return v.explained(status, out.Errors, needs)
}

// explained says what Vault answers, and what to do: needs are the capabilities that the call takes.
func (v *Vault) explained(status int, messages []string, needs string) error {
	text := fmt.Sprintf("Vault answers %d", status)
	if len(messages) > 0 {
		// Vault makes a list of several lines, also of one error.
		text += ": " + strings.Join(strings.Fields(strings.Join(messages, "; ")), " ")
	}
	switch status {
	case http.StatusForbidden:
		text += fmt.Sprintf(`. The token is not valid, or its policies lack the capabilities %s on the path "%s/data/%s"`, needs, cmp.Or(v.Mount, "secret"), v.Path)
	case http.StatusServiceUnavailable:
		text += ". It is tried again until Vault is unsealed and active"
	}
	return errors.New(text)
}
