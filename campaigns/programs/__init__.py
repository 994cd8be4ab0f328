"""Programs in C++ that campaigns measure, or make data by, and the script that compiles them."""
