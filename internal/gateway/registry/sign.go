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
)

// signatureLife is how long a signed path can be used. A tool downloads right after it was given the
// path, but a slow network may make it retry and resume.
const signatureLife = 30 * time.Minute

// signatureStep rounds expiries up, so that caches see the same path for a while.
const signatureStep = 5 * time.Minute

// signer makes and checks signatures of the keys of files. The key of a file is unique, so a signature
// is good for one file only.
type signer struct {
	key []byte
	now func() time.Time
}

// sign returns the segment of a path that allows reading a file: an expiry in Unix seconds and a
// signature, EXPIRY-SIGNATURE.
func (s signer) sign(file string) string {
	expiry := s.now().Add(signatureLife + signatureStep).Truncate(signatureStep).Unix()
	return fmt.Sprintf("%d-%s", expiry, s.mac(expiry, file))
}

func (s signer) mac(expiry int64, file string) string {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d\n%s", expiry, file)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// check returns an error unless the segment is a current signature of the file.
func (s signer) check(segment, file string) error {
	text, signature, _ := strings.Cut(segment, "-")
	expiry, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(s.key) == 0 || !hmac.Equal([]byte(signature), []byte(s.mac(expiry, file))) {
		return problem(http.StatusForbidden, "the signature of this address is not valid: ask the registry for the download again")
	}
	if s.now().Unix() >= expiry {
		return problem(http.StatusForbidden, "this address has expired: ask the registry for the download again")
	}
	return nil
}
