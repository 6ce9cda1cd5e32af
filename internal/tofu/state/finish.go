// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
)

// FinishWrite repeats a run's last write, which is needed if the server or the API went away after
// the version was stored, and the run cannot repeat it. It does nothing unless the run's version is
// the newest one and the Secret lacks it. Otherwise it is Write: it returns the same errors, and may
// be repeated. Data of the request is ignored. It reports whether it wrote the Secret.
//
// Call it before the run's lock is released: later, the Secret may be gone on purpose.
func (s *Store) FinishWrite(ctx context.Context, key Key, request WriteRequest) (Version, bool, error) {
	fail := func(err error) (Version, bool, error) {
		return Version{}, false, fmt.Errorf("finish the write of the state of %s by run %s: %w", key, request.RunID, err)
	}
	newest, err := s.newest(ctx, key)
	if err != nil {
		return fail(err)
	}
	if newest == nil || request.RunID == "" || newest.RunID != request.RunID { // a damaged one names no run
		return Version{}, false, nil
	}
	secret, err := s.getSecret(ctx, key)
	if err != nil {
		return fail(err)
	}
	current, err := s.decode(ctx, key, secret)
	if err != nil {
		return fail(err)
	}
	if current.Digest == newest.Digest {
		return *newest, false, nil
	}
	version, data, err := s.ReadVersion(ctx, key, newest.ID)
	if err != nil {
		return fail(err)
	}
	request.Data = data
	if err := s.writeSecret(ctx, key, secret, request, version); err != nil {
		return fail(err)
	}
	return version, true, nil
}
