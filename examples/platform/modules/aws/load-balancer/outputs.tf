output "load_balancer" {
  description = "The load balancer has a name instead of an address."
  value       = { id = aws_lb.this.arn, address = aws_lb.this.dns_name, private_address = aws_lb.this.dns_name, target_group = aws_lb_target_group.api.arn }
}
