// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import "net/http"

// Unavailable makes the server answer 503 with the reason until [Server.Available], because its
// bucket cannot be used yet.
func (s *Server) Unavailable(reason error) { s.closed.Store(&reason) }

// Available lets a server that was created as unavailable serve its bucket, and gives it the key that
// signs paths. It is called once.
func (s *Server) Available(key []byte) {
	s.signer.key = key // requests read it only after closed is nil
	s.closed.Store(nil)
}

// unavailable is the answer while the bucket cannot be used; nil if it can.
func (s *Server) unavailable() error {
	reason := s.closed.Load()
	if reason == nil {
		return nil
	}
	return problem(http.StatusServiceUnavailable, "the registry's bucket is not open; Yuba tries again by itself: "+(*reason).Error())
}

// opened answers 503 while the bucket cannot be used. Only the authenticated see the reason, which may
// name hosts of a private network.
func (s *Server) opened(by identify, serve answer) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		err := s.unavailable()
		if err == nil {
			return serve(w, r)
		}
		if who, refused := by(r); refused != nil || who.Name == Anonymous().Name {
			err = problem(http.StatusServiceUnavailable, "the registry's bucket is not open; Yuba tries again by itself, and its log says why")
		}
		return "", err
	}
}
