// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// signatureLife is how long a signed path can be used: until a download begins, which takes a tool
// seconds. One that has begun goes on.
const signatureLife = 5 * time.Minute

// signatureStep rounds expiries up, so that a client sees the same path for a while.
const signatureStep = time.Minute

// heldSignatureLife is the same for a path that is good for one identity only, which every request
// proves. It covers downloads that are cut and resumed.
const heldSignatureLife = time.Hour

// signer makes and checks signatures of the keys of files. The key of a file is unique, so a signature
// is good for one file only.
type signer struct {
	key []byte
	now func() time.Time
	// holder is the only identity whose requests may use the signatures; empty for everybody who has
	// one.
	holder string
}

// sign returns the segment of a path that allows reading a file: an expiry in Unix seconds and a
// signature, EXPIRY-SIGNATURE. The signature remembers whether it was made for somebody anonymous.
func (s signer) sign(file string, anonymous bool) string {
	life := signatureLife
	if s.holder != "" {
		life = heldSignatureLife
	}
	expiry := s.now().Add(life + signatureStep).Truncate(signatureStep).Unix()
	return fmt.Sprintf("%d-%s", expiry, s.mac(expiry, file, anonymous))
}

func (s signer) mac(expiry int64, file string, anonymous bool) string {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d %t %q %q", expiry, anonymous, s.holder, file)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// check returns an error unless the segment is a current signature of the file.
func (s signer) check(segment, file string) (anonymous bool, err error) {
	text, signature, _ := strings.Cut(segment, "-")
	expiry, err := strconv.ParseInt(text, 10, 64)
	is := func(anonymous bool) bool {
		return hmac.Equal([]byte(signature), []byte(s.mac(expiry, file, anonymous)))
	}
	if err != nil || len(s.key) == 0 || !is(false) && !is(true) {
		return false, problem(http.StatusForbidden, "the signature of this address is not valid: ask the registry for the download again")
	}
	if s.now().Unix() >= expiry {
		return false, problem(http.StatusForbidden, "this address has expired: ask the registry for the download again")
	}
	return is(true), nil
}

// opens returns an error unless a request's path has a current signature of the file. Who was given one
// by a token has shown credentials.
func (s signer) opens(r *http.Request, file string) error {
	anonymous, err := s.check(r.PathValue("signature"), file)
	if err == nil && !anonymous {
		listener.Authenticated(r.Context())
	}
	return err
}
