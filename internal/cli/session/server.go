// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// ServerPatience limits requests whose failure is not an error.
const ServerPatience = 3 * time.Second

// ServerInfo reads the server's version and state.
func (a *App) ServerInfo(ctx context.Context) (content.ServerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, ServerPatience)
	defer cancel()
	s, err := a.Connect()
	if err != nil {
		return content.ServerInfo{}, err
	}
	return s.Content.Server(ctx)
}
