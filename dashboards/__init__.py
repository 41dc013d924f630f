"""Streamlit pages for managers; what they show comes from analytics."""
